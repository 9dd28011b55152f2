// The page's program under node, without a browser: node tests/page/wasm.mjs BUILD. Both builds of page.c, with vectors
// and without, against what the examples print, what transformers computes, and what the page says about it.
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { Checks, presets, run } from './printed.mjs';

const MOST = 3.5e6; // bytes of the page
const build = process.argv[2] || 'build', checks = new Checks();
const source = readFileSync(`${build}/page/page.js`, 'utf8');
const model = new Map(['config.json', 'model.safetensors', 'spiece.model'].map((name) =>
    [`model/${name}`, new Uint8Array(readFileSync(`examples/models/bundled/${name}`))]));

// The page's script without a document: its functions, and the panels, which use `engine`.
function loadPage(engine) {
    const names = 'Engine, HIDDEN, MASKING, PRESETS, TITLES, WEIGHTS, cache, fixed, inkOn, listed, masking, matrix, own, ' +
        'numbersOfSentence, parseNumber, plainNumber, range, readMatrix, rowOf, scaleOf, shade, short, steps, ' +
        'writeMatrix';
    return new Function(`${source}; return { ${names}, use(e) { engine = e; } };`)(engine);
}

const page = loadPage();
const numbersOf = (rows) => rows.map((row) => row.map(Number));
const rowsOf = ({ rows, cols, texts }) => page.range(rows).map((r) => texts.slice(r * cols, (r + 1) * cols));

// ---- step by step ----

// 2 units in the last place of a float: instruction sets add up in different orders.
const nearFloat = (a, b) => Math.abs(a - b) <= 2 ** -22 * Math.max(Math.abs(a), Math.abs(b), 1e-6);

function checkPresets(name) {
    for (const [id, want] of Object.entries(presets(build, `${build}/page`))) {
        page.steps.take(page.PRESETS[id]);
        page.steps.preset = id;
        page.steps.digits = page.PRESETS[id].printed ?? page.steps.digits;
        page.steps.compute();
        const got = (matrix) => rowsOf(page.steps.content(matrix)), what = `${name}, notebook ${id}`;
        for (const [matrix, rows] of Object.entries(want)) {
            if (matrix in page.TITLES) checks.equal(got(matrix), rows, `${what}: ${matrix}`);
            const first = { firstScaled: 'scaled', firstWeights: 'weights', firstOutput: 'output' }[matrix];
            if (first) checks.equal(got(first)[0], rows, `${what}: ${first}, first row`);
            const near = { nearWeights: 'weights', nearWeighted: 'weighted', nearOutput: 'output' }[matrix];
            if (!near) continue;
            const wanted = numbersOf(rows).flat();
            numbersOf(got(near)).flat().forEach((x, n) =>
                checks.check(nearFloat(x, wanted[n]), `${what}: ${near}, ${n}: ${x}`));
        }
    }
}

const numberOf = (word) => Number(word.replace(/[()]/g, '').replaceAll('−', '-'));

// The sum of "1 × 2 + (−3) × 4", and how far it may be off where each number is rounded to so many digits.
function sumOf(text, digits) {
    const products = text.split(' + ').map((term) => term.split(' × ').map(numberOf));
    return { sum: products.reduce((all, [a, b]) => all + a * b, 0),
        bound: products.reduce((all, [a, b]) => all + (Math.abs(a) + Math.abs(b) + 1) * 10 ** -digits, 0) };
}

// The sum that a cell shows ends in what is in the cell, and its terms, as they are shown, add up to it.
function checkSums(name) {
    const steps = page.steps, computed = ['product', 'scaled', 'masked', 'weights', 'weighted', 'output'];
    for (const id of Object.keys(page.PRESETS))
        for (const digits of [2, page.PRESETS[id].printed ?? page.PRESETS[id].digits]) {
            steps.take(page.PRESETS[id]);
            Object.assign(steps, { preset: id, causal: id === '004', digits });
            steps.compute();
            for (const matrix of ['q', 'k', 'v', ...computed]) {
                const m = steps.matrixOf(matrix);
                for (let n = 0; n < m.rows * m.cols; n++) {
                    const [r, c] = [Math.floor(n / m.cols), n % m.cols], { text, terms } = steps.explain(matrix, r, c);
                    const what = `${name}, notebook ${id}, ${matrix} ${n}: ${text}`;
                    if (!text.includes(' = ') || text.includes('exp(−∞) = 0')) continue;
                    const end = text.split(' = ').pop();
                    checks.equal(end.split(' (')[0], steps.shown(matrix, r, c), what);
                    checks.equal(end.includes(`${digits} digits shown`), digits <= 4, `${what}: says it is rounded`);
                    const quotient = text.match(/≈ ([\d.e−+]+) ÷ ([\d.e−+]+) = /);
                    if (quotient)
                        checks.near(numberOf(quotient[1]) / numberOf(quotient[2]), m.values[n],
                            Math.max(0.6 * 10 ** -digits, 2e-7), `${what}: its quotient`);
                    const sum = text.match(/(?:times|=) [^=]*= ((?:\(?−?[\d.e−+]+\)? × \(?−?[\d.e−+]+\)?(?: \+ )?)+) = /);
                    if (!sum) continue;
                    const added = sumOf(sum[1], digits);
                    checks.near(added.sum, m.values[n], added.bound, `${what}: its terms`);
                    const first = terms ? steps.explain(matrix, r, c, 1).text : '';
                    checks.check(!terms || terms === 1 || first.endsWith('+ …'), `${what}: its first term: ${first}`);
                }
            }
            steps.causal = false;
        }
}

// Every row of weights adds up to 1, or is 0 without a score and NaN with an infinite one.
function checkWeights({ masked, weights }, what) {
    for (let r = 0; r < 2; r++) {
        const scores = Array.from(page.rowOf(masked, r)), row = Array.from(page.rowOf(weights, r));
        const sum = row.reduce((a, b) => a + b, 0);
        const bad = scores.some((s) => Number.isNaN(s) || s === Infinity);
        const empty = scores.every((s) => s === -Infinity);
        checks.check(bad ? row.every(Number.isNaN) : Math.abs(sum - (empty ? 0 : 1)) < 1e-6,
            `${what}: ${scores} have the weights ${row}`);
    }
}

// Numbers that no page should fall over.
function checkOddNumbers(engine, name) {
    const odd = [0, -0, 1, -1, 1e-320, 1e300, -1e300, 3.5e38, NaN, Infinity, -Infinity];
    for (const type of ['f32', 'f64'])
        for (let n = 0; n < odd.length; n++)
            for (const causal of [0, 1]) {
                const at = (i) => odd[(n + i) % odd.length];
                const q = page.matrix(2, 2, [at(0), 1, 1, 1]), k = page.matrix(2, 2, [1, at(1), 1, 1]);
                const v = page.matrix(2, 1, [at(2), 1]);
                const out = engine.steps(type, q, k, v, 0, Uint8Array.of(0, causal, 0, 0), 1);
                checkWeights(out, `${name}, ${type}, ${at(0)}, ${at(1)}`);
            }
    checks.equal(engine.words('f32', [NaN, Infinity, -Infinity, 2], 4), ['NaN', '∞', '−∞', '2'], `${name}: words`);
}

// ---- masking ----

// The visible keys, outputs and log-sum-exps of example 06, where every score is 0.
function checkMasks(engine, name) {
    const cases = [[1, {}], [2, { causal: 1 }], [3, { causal: 2 }], [4, { causal: 2 }], [5, { causal: 3, offset: 2 }],
        [6, { causal: 3, offset: -2 }], [7, { left: 2, right: 1 }], [8, { causal: 2, left: 2 }],
        [10, { causal: 2, qlen: 4, kvlen: 5 }]];
    const output = run(build, '06_causal_and_windows', `${build}/page`);
    for (const [number, options] of cases) {
        const part = output.split('\n== ').find((text) => text.startsWith(`${number}. `));
        const lines = part.split('\n').filter((line) => line.startsWith('query'));
        const rows = lines.map((line) => line.split(/\s+/).slice(2)), cols = rows[0].length - 3;
        const off = (o) => o.id === 'temperature' ? 1 : o.on ? NaN : 0;
        const given = page.MASKING.map((o) => options[o.id] === undefined ? off(o) : options[o.id]);
        const zeros = (n) => page.matrix(n, 4, new Float64Array(4 * n));
        const values = page.matrix(cols, 1, page.range(cols));
        const out = engine.attend(given, zeros(rows.length), zeros(cols), values);
        rows.forEach((row, i) => {
            const what = `${name}, example 06, ${number}, query ${i}`;
            const seen = Array.from(page.rowOf(out.final, i), (s) => s === -Infinity ? '.' : '#');
            checks.equal(seen, row.slice(0, cols), what);
            checks.near(out.output.values[i], Number(row[cols + 1]), 5.1e-5, `${what}: output`);
            if (row[cols + 2] === '-inf') checks.equal(out.lse[i] === -Infinity, true, `${what}: log-sum-exp`);
            else checks.near(out.lse[i], Number(row[cols + 2]), 5.1e-5, `${what}: log-sum-exp`);
        });
    }
}

// Whether the page's reason for a cell of masking, and the sum that it shows, are what attn_sdpa has computed.
function cellHolds(masking, i, j) {
    const { weights, final, capped, scaled, lse } = masking.result, { softcap, alibi, lk } = masking.values;
    const at = i * lk + j, hidden = Boolean(masking.hidden[at]);
    if (Boolean(masking.reason(i, j)) !== hidden) return false;
    if (hidden) return weights.values[at] === 0;
    const score = scaled.values[at], cap = masking.isOn.softcap ? softcap * Math.tanh(score / softcap) : score;
    const biased = masking.isOn.alibi ? cap - alibi * Math.abs(masking.position(i) - j) : cap;
    const weight = Math.exp(final.values[at] - lse[i]);
    return Math.abs(cap - capped.values[at]) < 2e-6 && Math.abs(biased - final.values[at]) < 2e-5 &&
        Math.abs(weight - weights.values[at]) < 2e-6;
}

// The page's reasons say that a key is hidden where attn_sdpa hides it, for every rule; and the sums that it shows add
// up.
function checkReasons(engine, name) {
    const { masking } = page;
    const q = engine.random(16 * 8, 8, -2, 2), k = engine.random(16 * 8, 6, -2, 2);
    const product = (i, j) => page.range(8).reduce((sum, d) => sum + q[8 * i + d] * k[8 * j + d], 0);
    let seed = 1;
    const below = (n) => (seed = Math.imul(seed, 1103515245) + 12345 >>> 0, (seed >>> 8) % n);
    for (let n = 0; n < 400; n++) {
        Object.assign(masking.values, { lq: 1 + below(9), lk: 1 + below(9), causal: below(4), offset: below(12) - 6,
            left: below(5), right: below(5), qlen: below(10), kvlen: below(10), temperature: (1 + below(6)) / 2 });
        masking.isOn = { left: below(2), right: below(2), qlen: below(3) === 0, kvlen: below(3) === 0,
            alibi: below(2), softcap: below(2), sink: below(2) };
        masking.compute();
        const { lq, lk } = masking.values;
        const what = `${name}, ${JSON.stringify(masking.values)} ${JSON.stringify(masking.isOn)}`;
        const held = page.range(lq).every((i) => page.range(lk).every((j) => cellHolds(masking, i, j)));
        checks.check(held, what);
        const { scaled, weights, lse } = masking.result, { temperature, sink } = masking.values;
        const scale = 1 / (temperature * Math.sqrt(8)), last = (lq - 1) * lk;
        if (!masking.hidden[0]) checks.near(scaled.values[0], scale * product(0, 0), 1e-5, `${what}: the first score`);
        const sum = page.rowOf(weights, lq - 1).reduce((a, b) => a + b, 0);
        const isValid = !(lq > masking.length('qlen', 'lq'));
        const isEmpty = masking.hidden.subarray(last).every(Boolean);
        const taken = masking.isOn.sink ? Math.exp(sink - lse[lq - 1]) : 0;
        if (isValid && !isEmpty) checks.near(sum + taken, 1, 1e-5, `${what}: weights and sink of the last query`);
    }
}

// ---- translation ----

function checkTranslations(engine, name) {
    const corpus = readFileSync('examples/models/train/held_out.tsv', 'utf8').split('\n');
    const sentences = corpus.slice(0, 40).map((line) => line.split('\t')[0]);
    const lines = run(build, '05_translate', '--scores', 'examples/models/bundled', ...sentences).trim().split('\n');
    sentences.forEach((sentence, n) => {
        const [score, text] = lines[n].split('\t'), got = engine.translate(sentence, 4);
        checks.equal(got.text, text, `${name}: ${sentence}`);
        checks.near(got.score, Number(score), 1e-4, `${name}: score of ${sentence}`);
        const last = got.steps.filter((step) => step.length);
        const parent = (node, step) => last[step - 1].find((from) => from.beam === node.from);
        const follows = (node, step) => step === 0 || parent(node, step).score >= node.score;
        const falls = last.every((step) => step.every((node, i) => i === 0 || node.score < step[i - 1].score + 1e-6));
        const differ = last.every((step) => new Set(step.map((node) => node.score)).size > 1 || step.length === 1);
        checks.check(falls && differ, `${name}: scores of the beams of ${sentence}`);
        const held = last.every((step, i) => step.every((node) => follows(node, i)));
        checks.check(last.length >= got.target.length - 1 && held, `${name}: steps of ${sentence}`);
    });
    let said = '';
    try { engine.translate('x '.repeat(300), 1); } catch (error) { said = error.message; }
    checks.equal(said, 'The sentence is too long: it has more than 200 tokens.', `${name}: a long text`);
    const oddTexts = ['', ' ', 'x'.repeat(150), '\u0000', '🙂 zebra "quoted" \\ back\nslash', '<b>&amp;</b>', '\ud800'];
    for (const text of oddTexts) {
        const got = engine.translate(text, 8);
        const rows = got.attention.cross[0][0].rows;
        checks.check(typeof got.text === 'string' && rows === got.target.length, `${name}: ${JSON.stringify(text)}`);
    }
}

// Every head as transformers has it, up to float's last digits.
function checkAttention(engine, name) {
    for (const want of JSON.parse(readFileSync('tests/page/attention.json', 'utf8'))) {
        const got = engine.translate(want.sentence, 1);
        const { sentence } = want, wanted = [want.translation, want.source, want.target];
        checks.equal([got.text, got.source, got.target], wanted, `${name}: ${sentence}`);
        for (const part of ['encoder', 'decoder', 'cross'])
            want[part].forEach((heads, block) => heads.forEach((rows, head) => {
                const { values } = got.attention[part][block][head];
                const worst = Math.max(...rows.flat().map((w, n) => Math.abs(w / 10000 - values[n])));
                const what = `${name}: ${sentence}, ${part}, layer ${block + 1}, head ${head + 1}`;
                checks.check(worst < 2e-4, `${what}: off by ${worst}`);
            }));
    }
}

// Weights of the bundled model of which change(name, values, cols), of 2 bytes each, makes others.
function modelWith(change) {
    const bytes = readFileSync('examples/models/bundled/model.safetensors'), size = Number(bytes.readBigUInt64LE());
    const tensors = JSON.parse(bytes.toString('utf8', 8, 8 + size)), directory = `${build}/page/changed`;
    const data = bytes.byteOffset + 8 + size;
    delete tensors.__metadata__;
    for (const [name, { shape, data_offsets: [begin, end] }] of Object.entries(tensors))
        change(name, new Uint16Array(bytes.buffer, data + begin, (end - begin) / 2), shape[1]);
    mkdirSync(directory, { recursive: true });
    for (const name of model.keys()) writeFileSync(name.replace('model', directory), model.get(name));
    writeFileSync(`${directory}/model.safetensors`, bytes);
    return directory;
}

const CHANGES = { off: 1, uniform: 2 };

// The engine's changes of so many heads of a block of a part, by their numbers.
function changesOf({ sizes }, part, block, heads, change) {
    const most = Math.max(sizes.encoder, sizes.decoder), all = new Uint8Array(3 * most * sizes.heads);
    const first = ['encoder', 'decoder', 'cross'].indexOf(part) * most + block;
    for (const head of heads) all[first * sizes.heads + head] = CHANGES[change];
    return all;
}

// A head is off where the columns of the output that take it are 0; it is uniform, in cross-attention, where its
// queries are 0: what the program makes of files that are changed so is what the engine makes of changed heads.
function checkChanges(engine, name) {
    const sentences = ['It is easy to translate languages with transformers', 'The men see a good book today'];
    const places = { encoder: ['encoder', '0.SelfAttention'], decoder: ['decoder', '0.SelfAttention'],
        cross: ['decoder', '1.EncDecAttention'] };
    const trained = sentences.map((sentence) => engine.translate(sentence, 4));
    const cases = [['cross', 2, [1], 'off'], ['cross', 1, [0, 1, 2, 3], 'off'], ['encoder', 0, [2], 'off'],
        ['encoder', 2, [0, 1, 2, 3], 'off'], ['decoder', 0, [1], 'off'], ['decoder', 1, [0, 1, 2, 3], 'off'],
        ['cross', 0, [3], 'uniform'], ['cross', 2, [0, 1, 2, 3], 'uniform'], ['encoder', 0, [2], 'uniform'],
        ['decoder', 0, [0, 3], 'uniform']];
    for (const [part, block, heads, change] of cases) {
        const what = `${name}: ${part}, layer ${block + 1}, heads ${heads.map((h) => h + 1)} ${change}`;
        const [stack, layer] = places[part], at = `${stack}.block.${block}.layer.${layer}`, inner = 96, of = inner / 4;
        const isHead = (n) => heads.includes(Math.floor(n / of));
        const isKnown = change === 'off' || part === 'cross'; // elsewhere a position counts, too
        const program = [build, '05_translate', '--scores', '--max-length', '100'];
        const lines = isKnown && run(...program, modelWith((tensor, values, cols) => {
            if (tensor !== `${at}.${change === 'off' ? 'o' : 'q'}.weight`) return;
            for (let n = 0; n < values.length; n++)
                if (isHead(change === 'off' ? n % cols : Math.floor(n / cols))) values[n] = 0;
        }), ...sentences).trim().split('\n').map((line) => line.split('\t'));
        sentences.forEach((sentence, n) => {
            const got = engine.translate(sentence, 4, changesOf(engine, part, block, heads, change));
            if (lines) {
                checks.equal(got.text, lines[n][1], `${what}: ${sentence}`);
                checks.near(got.score, Number(lines[n][0]), 1e-4, `${what}: score of ${sentence}`);
            }
            checks.check(got.score !== trained[n].score, `${what}: the score is another`);
            got.attention[part][block].forEach(({ rows, cols, values }, head) => {
                const seen = (r) => part === 'decoder' ? r + 1 : cols;
                const wanted = (r, c) => change === 'uniform' && c < seen(r) ? 1 / seen(r) : 0;
                const sum = page.rowOf({ rows, cols, values }, 0).reduce((a, b) => a + b, 0);
                const held = heads.includes(head) ? page.range(rows * cols).every((k) =>
                    Math.abs(values[k] - wanted(Math.floor(k / cols), k % cols)) < 1e-6) : Math.abs(sum - 1) < 1e-5;
                checks.check(held, `${what}: weights of head ${head + 1}`);
            });
        });
    }
    sentences.forEach((sentence, n) => {
        const { text, score } = engine.translate(sentence, 4, changesOf(engine, 'cross', 0, [], 'off'));
        checks.equal([text, score], [trained[n].text, trained[n].score], `${name}: no change: ${sentence}`);
    });
}

// A model for which there is no room is refused.
function checkMemory(wasm, name) {
    const engine = new page.Engine(wasm, new Map(model)), { memory } = engine.exports;
    memory.grow(65536 - memory.buffer.byteLength / 65536); // all that there can be
    let said = '';
    try { engine.open('model'); } catch (error) { said = error.message; }
    checks.check(/memory/.test(said), `${name}: no room for a model: "${said}"`);
}

// ---- token by token ----

const worst = (a, b) => Math.max(...a.values.map((x, n) => Math.abs(x - b.values[n])));

// Multiplications of a step, one by one: those of projections, then of the pairs of a word and one that it sees.
function multiplied(t, size, isCached) {
    let count = 0;
    for (let i = isCached ? t - 1 : 0; i < t; i++) {
        for (let weight = 0; weight < 3 * size * size; weight++) count++;
        for (let j = 0; j <= i; j++)
            for (let d = 0; d < size; d++) count += 2;
    }
    return count;
}

// Keys that are off by e change no score by more than s = e |q| / sqrt(D), |q| the sum of the query's sizes, and no
// weight by more than a factor exp(2 s).
function checkCaches(engine, name) {
    const { cache } = page;
    const sentences = ['one', 'the cat sees the dog', 'a b c d e f g h i j k l m n o p'];
    const rounded = { f32: 0, f16: 2 ** -11, i8: 0.51 / 127 }; // of the largest number of a row, at most
    const largest = (m) => Math.max(...m.values.map(Math.abs));
    for (const sentence of sentences)
        for (const type of Object.keys(rounded)) {
            const words = sentence.split(' '), what = `${name}, ${sentence}, ${type}`;
            Object.assign(cache, { numbers: page.numbersOfSentence(words, 8), words, step: words.length });
            cache.compute();
            const { without, cached, bytes } = cache.results[type], { x, wq } = cache.numbers;
            const q = engine.matmul('f64', x, wq), lost = worst(cached.keys, without.keys);
            const most = Math.max(...words.map((_, r) => page.rowOf(q, r).reduce((sum, a) => sum + Math.abs(a), 0)));
            const off = Math.expm1(2 * lost * most / Math.sqrt(8)) + 1e-6;
            const error = worst(cached.weights, without.weights);
            checks.equal(bytes, { f32: 64, f16: 32, i8: 24 }[type], `${what}: bytes of a word`);
            checks.check(lost <= rounded[type] * largest(without.keys), `${what}: keys are off by ${lost}`);
            checks.check(error <= off, `${what}: weights are off by ${error}, more than ${off}`);
            checks.check(error <= { f32: 1e-6, f16: 2 ** -10, i8: 0.02 }[type], `${what}: weights are off by ${error}`);
            checks.check((error > 0) === (type !== 'f32' && words.length > 1), `${what}: an error of ${error}`);
            const outputs = worst(cached.output, without.output), values = worst(cached.values, without.values);
            checks.check(outputs <= off * largest(without.values) + values, `${what}: outputs are off by ${outputs}`);
            words.forEach((_, r) => {
                const scores = page.range(r + 1).map((j) => page.range(8).reduce((sum, d) =>
                    sum + page.rowOf(q, r)[d] * page.rowOf(without.keys, j)[d], 0) / Math.sqrt(8));
                const sum = scores.reduce((all, s) => all + Math.exp(s), 0), row = page.rowOf(without.weights, r);
                const held = scores.every((s, j) => Math.abs(Math.exp(s) / sum - row[j]) < 1e-5);
                checks.check(held, `${what}: softmax, ${r}`);
            });
        }
    for (let t = 1; t <= 16; t++)
        checks.equal(cache.costs(t), { without: multiplied(t, 8, false), cached: multiplied(t, 8, true) },
            `${name}: multiplications of step ${t}`);
    checks.equal(cache.costsUntil(16, 'cached'), page.range(16).reduce((sum, i) => sum + multiplied(i + 1, 8, true), 0),
        `${name}: multiplications in all`);
}

// ---- training ----

// The losses that example 10 prints: the words of a line, by their first, the step.
function printedLosses(output) {
    const lines = output.split('\n== 5')[1].split('\n== 6')[0].split('\n');
    const rows = lines.map((line) => line.trim().split(/\s+/)).filter((words) => /^\d+$/.test(words[0]));
    return new Map(rows.map((words) => [Number(words[0]), words]));
}

function checkTraining(engine, name) {
    const output = readFileSync('tests/golden/10_training.txt', 'utf8'), wanted = printedLosses(output);
    const letters = (numbers) => numbers.map((n) => n < 0 ? '-' : String.fromCharCode(97 + n)).join(' ');
    engine.trainBegin();
    const text = output.match(/^text +(.*)$/m)[1];
    checks.equal(letters(engine.trained().letters), text, `${name}: the text before training`);
    for (let step = 1; step <= 250; step++) {
        checks.check(engine.trainStep(step === 250) === step, `${name}: step ${step}`);
        if (!wanted.has(step)) continue;
        const losses = [0, 1].map((known) => engine.exports.page_train_loss(known).toFixed(2));
        checks.equal(losses, wanted.get(step).slice(1, 3), `${name}: losses at step ${step}`);
    }
    const { guesses, heads } = engine.trained();
    checks.equal(letters(guesses), output.match(/^guess +(.*)$/m)[1], `${name}: guesses`);
    const shares = output.split('\n== 7')[1].split('\n').slice(2, 6).map((line) => line.trim().split(/\s+/).slice(2));
    checks.equal(heads.map((h) => [h.before.toFixed(2), h.followed.toFixed(2)]), shares, `${name}: what heads look at`);
}

// ---- what the script does by itself ----

function checkFunctions() {
    const { parseNumber, readMatrix, writeMatrix, listed, short, plainNumber, fixed, matrix } = page;
    const numbers = [['1', 1], [' -2.5 ', -2.5], ['1e3', 1000], ['1,5', 1.5], ['−3', -3], ['', undefined],
        [' ', undefined], ['x', undefined], ['1 2', undefined], ['--1', undefined], ['inf', Infinity],
        ['-∞', -Infinity], ['1e999', Infinity]];
    for (const [text, want] of numbers) {
        const got = parseNumber(text);
        checks.check(Object.is(got, want), `parseNumber("${text}") is ${got}`);
    }
    checks.check(Number.isNaN(parseNumber('NaN')), 'parseNumber("NaN")');
    const m = matrix(2, 3, [1, -0.5, NaN, Infinity, 1e-300, -Infinity]);
    checks.equal(writeMatrix(readMatrix(writeMatrix(m), 12, 8)), writeMatrix(m), 'a matrix in a link');
    for (const text of ['', '1;2,3', '1,x', '1,2,3,4,5,6,7,8,9', Array(14).fill('1').join(';')])
        checks.equal(readMatrix(text, 12, 8), undefined, `the matrix "${text}"`);
    checks.equal([['a'], ['a', 'b'], ['a', 'b', 'c']].map(listed), ['a', 'a and b', 'a, b and c'], 'listed');
    checks.equal([short(NaN), short(-Infinity), short(-1.23456)], ['NaN', '−∞', '−1.235'], 'numbers in sentences');
    checks.equal([plainNumber('2.'), plainNumber('1.e+08')], ['2', '1e+08'], 'numbers of numpy');
    checks.equal([fixed(-1.5, 2), fixed(1e9, 2)], ['−1.50', '1.00e+9'], 'numbers in cells');
    page.own.files = [{ name: 'model.gguf', size: 3e9 }];
    const said = page.own.missing(3e9);
    checks.check(said.includes('3000 MB') && said.includes('4000 MB'), `a model that is too large: ${said}`);
    checks.equal(page.own.missing(1e9), '', 'one that is not');
    checkColours();
}

// Text on every colour that a cell can have, and on what is hidden, has a contrast of 4.5 at least; small weights differ
// from none, and a number from 0 whichever its sign.
function checkColours() {
    const linear = (c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    const light = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
    const contrast = (rgb, other) => {
        const [a, b] = [light(rgb), light(other)].sort((x, y) => y - x);
        return (a + 0.05) / (b + 0.05);
    };
    const ink = (rgb) => page.inkOn(rgb) === '#fff' ? [255, 255, 255] : [0, 0, 0], numbers = page.scaleOf([-4, 3]);
    checks.equal([numbers.low, numbers.high], [-4, 4], '0 is in the middle');
    for (const theme of ['light', 'dark']) {
        for (let n = -64; n <= 64; n++)
            for (const rgb of [page.shade(Math.abs(n) / 64, page.WEIGHTS, theme), page.shade(n / 16, numbers, theme)])
                checks.check(contrast(rgb, ink(rgb)) >= 4.5, `${theme}, ${n}: contrast ${contrast(rgb, ink(rgb))}`);
        const style = readFileSync('examples/page/page.css', 'utf8').split(/^:root/m)[theme === 'light' ? 1 : 2];
        const colour = (name) => style.match(`--${name}: #(\\w+)`)[1].padEnd(6, 'f').match(/../g)
            .map((digits) => parseInt(digits, 16));
        for (const ground of ['hidden', 'hatch'])
            checks.check(contrast(colour(ground), colour('ink')) >= 4.5, `${theme}: text on ${ground}`);
        checks.equal(page.HIDDEN[theme], colour('hidden'), `${theme}: hidden cells, in tables and on canvases`);
        const apart = (a, b) => Math.max(...a.map((x, i) => Math.abs(x - b[i])));
        const [none, little] = [0, 0.01].map((x) => page.shade(x, page.WEIGHTS, theme));
        checks.check(apart(none, little) > 10, `${theme}: a weight of 0.01 is seen, ${none} ${little}`);
        const [below, zero, above] = [-1, 0, 1].map((x) => page.shade(x, numbers, theme));
        checks.check(apart(below, zero) > 20 && apart(above, zero) > 20 && apart(above, below) > 20, `${theme}: signs`);
        checks.equal(page.shade(NaN, numbers, theme), null, `${theme}: NaN has no colour`);
    }
}

checkFunctions();
checks.check(statSync(`${build}/page/attention.html`).size <= MOST, `the page has at most ${MOST} bytes`);
for (const [name, set] of [['vectors', 'vector128'], ['scalar', 'scalar']]) {
    const wasm = readFileSync(`${build}/page/${name}.wasm`), engine = new page.Engine(wasm, model);
    page.use(engine);
    checks.equal(engine.instructionSet, set, `${name}: instruction set`);
    checkPresets(name);
    checkSums(name);
    checkOddNumbers(engine, name);
    checkMasks(engine, name);
    checkReasons(engine, name);
    checkTranslations(engine, name);
    checkAttention(engine, name);
    checkChanges(engine, name);
    checkMemory(wasm, name);
    checkCaches(engine, name);
    checkTraining(engine, name);
    const size = engine.exports.memory.buffer.byteLength;
    for (let n = 0; n < 50; n++) engine.translate('the cat sees the dog', 4);
    for (let n = 0; n < 1000; n++) engine.words('f32', [n], 4);
    checks.equal(engine.exports.memory.buffer.byteLength, size, `${name}: memory after a thousand calls`);
}
checks.end();
