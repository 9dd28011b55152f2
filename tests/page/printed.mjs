// What the notebooks print, to compare the page with: the matrices of a run, by heading and name.
import { execFileSync } from 'node:child_process';

// The output of a program of the build.
export function run(build, program, ...args) {
    return execFileSync(`${build}/${program}`, args, { encoding: 'utf8', maxBuffer: 1 << 26 });
}

// The matrix printed under a heading that begins so, by its name, of which it may be the nth: rows of numbers as they
// are written, but for a point at the end and numpy's dots.
export function printed(output, heading, name, nth = 0) {
    const part = output.split('\n== ').find((text) => text.startsWith(heading));
    if (!part) throw new Error(`nothing is printed under "${heading}"`);
    const lines = part.split('\n'), starts = lines.flatMap((line, i) => line.startsWith(`${name} (`) ? [i] : []);
    if (starts.length <= nth) throw new Error(`"${name}" is not printed under "${heading}"`);
    const rows = [];
    let row = '';
    for (const line of lines.slice(starts[nth] + 1)) {
        row += ` ${line}`;
        if (!line.includes(']')) continue;
        const words = row.replace(/[[\]]/g, ' ').trim().split(/\s+/);
        rows.push(words.map((word) => word.replace(/\.$/, '').replace('.e', 'e')));
        row = '';
        if (line.endsWith(']]') || !/^\[\[|^ \[/.test(line)) break;
    }
    return rows;
}

// Counts checks, and prints those that fail.
export class Checks {
    passed = 0;
    failed = 0;

    check(held, what) {
        held ? this.passed++ : this.failed++;
        if (!held) console.log(`FAIL ${what}`);
        return held;
    }
    equal(got, want, what) {
        const [a, b] = [got, want].map((x) => JSON.stringify(x));
        return this.check(a === b, `${what}\n    is ${a}\n    not ${b}`);
    }
    near(got, want, bound, what) {
        return this.check(Math.abs(got - want) <= bound, `${what}: ${got}, not ${want} within ${bound}`);
    }
    end() {
        console.log(`${this.passed} passed, ${this.failed} failed`);
        process.exitCode = this.failed || !this.passed ? 1 : 0;
    }
}

// What the presets of the panel "step by step" must show: for each, its matrices by the page's names, as printed.
export function presets(build, pictures) {
    const programs = ['01_attention_mechanism', '02_word_attention', '03_attention_scoring', '04_self_attention'];
    const [one, two, three, four] = programs.map((program) => run(build, program, pictures));
    const turned = (rows) => rows[0].map((_, c) => rows.map((row) => row[c]));
    const oneHead = {
        x: printed(one, '1. ', 'x'),
        wq: printed(one, '2. ', 'w_query'), wk: printed(one, '2. ', 'w_key'), wv: printed(one, '2. ', 'w_value'),
        q: printed(one, '3. ', 'q'), k: printed(one, '3. ', 'k'), v: printed(one, '3. ', 'v'),
        product: printed(one, '4. ', 'scores'),
        scaled: printed(one, '4. ', 'scores'), weights: [1, 2, 3].map((n) => printed(one, '5. ', `input ${n}`)[0]),
        weighted: [0, 1, 2].map((n) => printed(one, '6. ', 'weighted', n)[0]),
    };
    oneHead.firstOutput = printed(one, '7. ', 'output of input 1')[0];
    return {
        '000': oneHead, '001': oneHead,
        '002': { x: printed(two, '1. ', 'words'),
            wq: printed(two, '2. ', 'w_query'), wk: printed(two, '2. ', 'w_key'), wv: printed(two, '2. ', 'w_value'),
            q: printed(two, '8. ', 'queries'), k: printed(two, '8. ', 'keys'), v: printed(two, '8. ', 'values'),
            product: printed(two, '9. ', 'scores'),
            firstScaled: printed(two, '5. ', 'scaled scores of word 1')[0],
            firstWeights: printed(two, '6. ', 'weights of word 1')[0],
            firstOutput: printed(two, '7. ', 'attention of word 1')[0],
            nearWeights: printed(two, '10. ', 'weights'), nearOutput: printed(two, '11. ', 'attention') },
        '003': { q: printed(three, '1. ', 'state'), k: turned(printed(three, '4. ', 'annotations')),
            product: printed(three, '5. ', 'scores'), weights: printed(three, '7. ', 'weights'),
            nearWeighted: turned(printed(three, '8. ', 'applied attention')),
            output: printed(three, '9. ', 'context') },
        '004': { q: printed(four, '1. ', 'inputs'), k: printed(four, '1. ', 'inputs'),
            v: printed(four, '1. ', 'inputs'), product: printed(four, '8. ', 'scores'),
            weights: printed(four, '9. ', 'weights'), output: printed(four, '10. ', 'context') },
    };
}
