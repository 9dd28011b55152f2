// Runs a program for WASI: node tests/config/wasi.mjs PROGRAM ARGUMENT... It sees the environment, and every file, from
// this directory or from the root. What it returns is the status; if it stopped as abort() does, 134.
import { readFileSync } from 'node:fs';
import { WASI } from 'node:wasi';

const program = process.argv[2];
const wasi = new WASI({
    version: 'preview1', args: process.argv.slice(2), env: process.env, preopens: { '.': '.', '/': '/' },
});
const { instance } = await WebAssembly.instantiate(readFileSync(program), wasi.getImportObject());
try {
    process.exitCode = wasi.start(instance);
} catch (error) {
    console.error(String(error));
    process.exitCode = 134;
}
