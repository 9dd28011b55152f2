// Runs a program for WASI in Chromium, whose WebAssembly is newer than that of Debian's node:
// node chromium.mjs PROGRAM ARGUMENT... It sees the environment, and no file. What it returns is the status; if it
// stopped as abort() does, 134.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

// What is done there: functions of WASI, as far as programs need them that only print.
function run(program, args, variables) {
    const SUCCESS = 0, SPIPE = 70, decoder = new TextDecoder();
    let memory, text = '', status = 0;
    const view = () => new DataView(memory.buffer);
    function sizes(strings, count, bytes) {
        view().setUint32(count, strings.length, true);
        view().setUint32(bytes, strings.join('').length + strings.length, true);
        return SUCCESS;
    }
    function get(strings, pointers, at) {
        for (const string of strings) {
            view().setUint32(pointers, at, true);
            new TextEncoder().encodeInto(`${string}\0`, new Uint8Array(memory.buffer, at));
            pointers += 4, at += string.length + 1;
        }
        return SUCCESS;
    }
    function write(file, pieces, count, written) {
        let all = 0;
        for (; count > 0; count--, pieces += 8) {
            const at = view().getUint32(pieces, true), size = view().getUint32(pieces + 4, true);
            text += decoder.decode(new Uint8Array(memory.buffer, at, size), { stream: true });
            all += size;
        }
        view().setUint32(written, all, true);
        return SUCCESS;
    }
    const module = new WebAssembly.Module(Uint8Array.from(atob(program), (c) => c.charCodeAt(0)));
    const { exports } = new WebAssembly.Instance(module, { wasi_snapshot_preview1: {
        args_sizes_get: (count, bytes) => sizes(args, count, bytes),
        args_get: (pointers, at) => get(args, pointers, at),
        environ_sizes_get: (count, bytes) => sizes(variables, count, bytes),
        environ_get: (pointers, at) => get(variables, pointers, at),
        fd_fdstat_get: (file, at) => (new Uint8Array(memory.buffer, at, 24).fill(0), SUCCESS),
        fd_seek: () => SPIPE,
        fd_write: write,
        fd_close: () => SUCCESS,
        sched_yield: () => SUCCESS,
        proc_exit: (code) => { throw code; },
    } });
    memory = exports.memory;
    try {
        exports._start();
    } catch (code) {
        if (typeof code !== 'number') text += `${code}\n`;
        status = typeof code === 'number' ? code : 134;
    }
    return { status, text };
}

const program = readFileSync(process.argv[2]).toString('base64'), args = process.argv.slice(2);
const variables = ['TEST_LEVEL'].filter((name) => name in process.env).map((name) => `${name}=${process.env[name]}`);
const work = mkdtempSync(join(tmpdir(), 'chromium-'));
try {
    writeFileSync(join(work, 'page.html'), `<pre></pre><script>${run}
        const result = run(...${JSON.stringify([program, args, variables])});
        document.querySelector('pre').textContent = encodeURIComponent(JSON.stringify(result));</script>`);
    const { stdout, stderr } = spawnSync('chromium', ['--headless', '--no-sandbox', '--disable-gpu',
        `--user-data-dir=${work}`, '--dump-dom', join(work, 'page.html')], { encoding: 'utf8', maxBuffer: 1 << 26 });
    const answer = /<pre>([^<]+)<\/pre>/.exec(stdout);
    if (!answer) throw new Error(`no answer from chromium\n${stderr}`);
    const { status, text } = JSON.parse(decodeURIComponent(answer[1]));
    process.stdout.write(text);
    process.exitCode = status;
} finally {
    rmSync(work, { recursive: true, force: true });
}
