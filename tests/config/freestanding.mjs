// Attention in WebAssembly without a libc (freestanding.c), against plain loops: node freestanding.mjs PROGRAM
import { readFileSync } from 'node:fs';

const OK = 0, NOMEM = 7, SCALAR = 1, VECTOR128 = 5;
const program = process.argv[2];
let passed = 0, failed = 0;

function check(held, what) {
    held ? passed++ : failed++;
    if (!held) console.log(`FAIL ${what}`);
}

const module = new WebAssembly.Module(readFileSync(program));
const wanted = WebAssembly.Module.imports(module).map(({ module, name }) => `${module}.${name}`).sort();
check(wanted.join(' ') === 'Math.cos Math.exp Math.log Math.pow Math.sin Math.sqrt Math.tanh',
    `imports ${wanted.join(' ')}`);

const attn = new WebAssembly.Instance(module, { Math }).exports;
const end = attn.memory_at() + attn.memory_size();
let free;

// Numbers in the program's memory.
function numbers(type, count) {
    const at = Math.ceil(free / 64) * 64;
    free = at + count * type.BYTES_PER_ELEMENT;
    if (free > end) throw new Error('too little memory');
    return new type(attn.memory.buffer, at, count);
}

function random(type, count) {
    const all = numbers(type, count);
    for (let i = 0; i < count; i++) all[i] = 2 * Math.random() - 1;
    return all;
}

// The largest error of out, beside three loops in double.
function error(out, q, k, v, heads, Lq, Lk, D, causal) {
    let worst = 0;
    for (let h = 0; h < heads; h++)
        for (let i = 0; i < Lq; i++) {
            const seen = causal ? i + Lk - Lq + 1 : Lk, weights = [], key = (h >> 1) * Lk;
            for (let j = 0; j < seen; j++) {
                let score = 0;
                for (let d = 0; d < D; d++) score += q[(h * Lq + i) * D + d] * k[(key + j) * D + d];
                weights.push(Math.exp(score / Math.sqrt(D)));
            }
            const sum = weights.reduce((a, b) => a + b, 0);
            for (let d = 0; d < D; d++) {
                let want = 0;
                for (let j = 0; j < seen; j++) want += weights[j] / sum * v[(key + j) * D + d];
                const off = Math.abs(out[(h * Lq + i) * D + d] - want);
                worst = off <= worst ? worst : off; // NaN stays
            }
        }
    return worst;
}

function attends(type, dtype, isa, heads, Lq, Lk, D, causal) {
    const what = `${type.name}, isa ${isa}, ${heads} heads, ${Lq} x ${Lk} x ${D}, causal ${causal}`;
    free = attn.memory_at();
    const size = numbers(Uint32Array, 1);
    const out = random(type, heads * Lq * D), q = random(type, heads * Lq * D);
    const k = random(type, heads / 2 * Lk * D), v = random(type, heads / 2 * Lk * D);
    const call = (run, scratch) => attn.attend(run, isa, dtype, causal, heads, Lq, Lk, D, out.byteOffset, q.byteOffset,
        k.byteOffset, v.byteOffset, scratch, size.byteOffset);
    check(call(0, 0) === OK, `scratch: ${what}`);
    const bytes = size[0], scratch = numbers(Uint8Array, bytes);
    if (bytes > 16384) {
        size[0] = bytes - 1;
        check(call(1, scratch.byteOffset) === NOMEM, `a byte too little: ${what}`);
        size[0] = 0;
        const status = call(1, 0); // with less, that only makes calls faster, it may fit on 33 KiB of stack
        check(status === NOMEM || status === OK, `no scratch: ${what}`);
        check(status === OK || bytes > 33792, `no scratch, though it fits: ${what}`);
        size[0] = bytes;
    }
    check(call(1, scratch.byteOffset) === OK, what);
    const off = error(out, q, k, v, heads, Lq, Lk, D, causal);
    check(off < (type === Float32Array ? 2e-6 : 1e-14), `error ${off}: ${what}`);
}

check(attn.isa_available(SCALAR) === 1 && attn.isa_available(VECTOR128) === 1, 'instruction sets');
for (const isa of [0, SCALAR, VECTOR128])
    for (const causal of [0, 1])
        for (const [Lq, Lk, D] of [[1, 1, 1], [1, 70, 8], [3, 5, 7], [17, 65, 64], [64, 200, 40]]) {
            attends(Float32Array, 0, isa, 4, Lq, Lk, D, causal);
            attends(Float64Array, 1, isa, 2, Lq, Lk, D, causal);
        }

free = attn.memory_at();
const rows = numbers(Float64Array, 6 * 8);
check(attn.sinusoid(rows.byteOffset, 6, 8) === OK, 'sinusoid');
for (let p = 0; p < 6; p++)
    for (let i = 0; i < 8; i++) {
        const angle = p * Math.pow(10000, -2 * (i >> 1) / 8);
        check(Math.abs(rows[p * 8 + i] - (i % 2 ? Math.cos(angle) : Math.sin(angle))) < 1e-14, `sinusoid ${p}, ${i}`);
    }

console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed ? 1 : 0;
