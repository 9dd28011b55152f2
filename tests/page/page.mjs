// The page in real browsers: node tests/page/page.mjs BUILD [BROWSER...]. Clicks, types, points and presses keys as a
// person does, compares what is shown with what the examples print, and takes a picture of every panel, in both themes,
// wide and on a phone, to BUILD/page/screens. Without names: chromium, and firefox if it is installed.
import { mkdirSync, readFileSync, readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { launch } from './browser.mjs';
import { Checks, presets, run } from './printed.mjs';

const build = process.argv[2] || 'build', names = process.argv.slice(3);
const file = pathToFileURL(resolve(build, 'page/attention.html')).href, screens = `${build}/page/screens`;
const checks = new Checks(), want = presets(build, `${build}/page`);
let browser, what;

// ---- what the page shows ----

const text = (selector) => browser.evaluate((s) => document.querySelector(s).textContent, selector);
const rest = (milliseconds) => browser.evaluate((n) => new Promise((done) => setTimeout(done, n)), milliseconds);
const open = async (hash = '') => {
    await browser.open('about:blank');
    await browser.open(file + hash);
    const isReady = () => browser.evaluate(() => 'ready' in document.documentElement.dataset);
    for (let n = 0; n < 400 && !await isReady(); n++) await rest(25);
};
const hash = async () => (await rest(250), browser.evaluate(() => location.hash));

// What is true of all elements that a selector finds: how many they are, and the texts in them.
const count = (selector) => browser.evaluate((s) => document.querySelectorAll(s).length, selector);
const texts = (selector) =>
    browser.evaluate((s) => Array.from(document.querySelectorAll(s), (e) => e.textContent), selector);

// The matrices of a panel, by the names above them: rows of the texts of cells and boxes.
const tables = (id) => browser.evaluate((id) => {
    const shown = (cell) => cell.tagName === 'INPUT' ? cell.value : cell.textContent;
    const cells = (row) => Array.from(row.querySelectorAll('[data-r]'), shown);
    const table = (figure) => [figure.querySelector('figcaption').firstChild.textContent.trim(),
        Array.from(figure.querySelectorAll('tbody tr'), cells)];
    return Object.fromEntries(Array.from(document.querySelectorAll(`#${id} figure.matrix`), table));
}, id);

// A cell of a matrix of the first panel, as a selector.
async function cell(name, r, c) {
    const n = await browser.evaluate((name) => {
        const captions = Array.from(document.querySelectorAll('#steps-matrices figcaption'));
        return captions.findIndex((caption) => caption.firstChild.textContent.trim() === name);
    }, name);
    if (n < 0) throw new Error(`there is no matrix ${name}`);
    return `#steps-matrices figure:nth-of-type(${n + 1}) [data-r="${r}"][data-c="${c}"]`;
}

const stage = (n) => browser.click(`#steps-stages li:nth-child(${n}) button`);
const THREE_INPUTS = '#panel=steps&numbers=000&step=inputs';
const says = async (selector, part, of) => {
    const shown = await text(selector);
    checks.check(shown.includes(part), `${what}, ${of}: "${shown}" does not hold "${part}"`);
};

// ---- panel 1 ----

const TITLES = {
    x: 'x', wq: 'Wq', wk: 'Wk', wv: 'Wv', q: 'Q', k: 'K', v: 'V',
    product: 'Scores', scaled: 'Scaled scores', weights: 'Weights', weighted: 'Weighted values', output: 'Output',
};

// The page opens on six words, their weights in colour with two digits, and lines between them.
async function opensOnColour() {
    await open();
    const { Weights } = await tables('steps');
    checks.equal([Weights.length, Weights[0].slice(0, 2)], [6, ['0.21', '0.20']], `${what}: weights of six words`);
    checks.equal((await texts('#steps-lines .word')).slice(0, 2), ['Your', 'journey'], `${what}: the words at the left`);
    const lines = await browser.evaluate(() => Array.from(document.querySelectorAll('#steps-lines path'), (path) =>
        Number(path.getAttribute('stroke-width'))));
    checks.equal(lines.length, 36, `${what}: a line for each weight`);
    checks.near(lines[7], 1 + 7 * 0.24, 0.04, `${what}: the width of the line from journey to itself`);
    await browser.hover('#steps-lines [data-from="1"].word');
    const alone = () => browser.evaluate(() => Array.from(document.querySelectorAll('#steps-lines path'), (path) =>
        path.style.display === 'none' ? 0 : 1).reduce((a, b) => a + b));
    checks.equal(await alone(), 6, `${what}: a word's own lines alone`);
    await says('#steps-sum', 'journey takes 0.14 from Your, 0.24 from journey', 'a word that looks');
    await browser.evaluate(() => document.querySelector('#steps-lines [data-to="0"].word').focus());
    await says('#steps-sum', 'Your gives 0.21 to Your, 0.14 to journey', 'a word with the focus');
    const options = await texts('#steps-preset option');
    checks.check(options.every((option) => !/00\d|notebook/.test(option)), `${what}: ${options}`);
    const colours = await browser.evaluate(() => new Set(Array.from(document.querySelectorAll('#steps td[data-r]'),
        (cell) => cell.style.background)).size);
    checks.check(colours > 10, `${what}: ${colours} colours`);
    const legends = await count('#steps-matrices .legend i');
    checks.equal(legends, 10, `${what}: a legend for each matrix`);
}

async function showsNotebooks() {
    for (const [id, numbers] of Object.entries(want)) {
        await open();
        await browser.set('#steps-preset', id);
        await browser.evaluate(() => { document.querySelector('#steps details').open = true; });
        await browser.set('#steps-digits', id === '004' ? '4' : '8');
        const shown = {};
        for (let n = numbers.x ? 1 : 2; n <= 8; n++) {
            await stage(n);
            Object.assign(shown, await tables('steps'));
        }
        for (const [name, rows] of Object.entries(numbers)) {
            const where = `${what}, notebook ${id}: ${name}`;
            if (TITLES[name]) checks.equal(shown[TITLES[name]], rows, where);
            else if (name.startsWith('first')) checks.equal(shown[TITLES[name.slice(5).toLowerCase()]][0], rows, where);
        }
    }
}

async function goesThroughStages() {
    await open(THREE_INPUTS);
    const titles = [await text('#steps-title')];
    for (let n = 0; n < 7; n++) {
        await browser.click('#steps-next');
        titles.push(await text('#steps-title'));
    }
    checks.equal(new Set(titles).size, 8, `${what}: eight steps, ${titles}`);
    const isLast = await browser.evaluate(() => document.querySelector('#steps-next').disabled);
    checks.check(isLast, `${what}: no step after the last`);
    for (let n = 0; n < 7; n++) await browser.click('#steps-back');
    checks.equal(await text('#steps-title'), titles[0], `${what}: back to the first step`);
}

// Rows of the left factor stand beside those of the result, columns of the right one above its columns.
async function laysOutProducts() {
    const places = () => browser.evaluate(() => Object.fromEntries(
        Array.from(document.querySelectorAll('#steps-matrices figure'), (figure) => {
            const cell = (r, c) => figure.querySelector(`[data-r="${r}"][data-c="${c}"]`).closest('td');
            const [first, other] = [cell(0, 0), cell(1, 1)].map((td) => td.getBoundingClientRect());
            const round = (...numbers) => numbers.map(Math.round);
            return [figure.querySelector('figcaption').firstChild.textContent.trim(),
                { tops: round(first.top, other.top), lefts: round(first.left, other.left) }];
        })));
    const products = [[THREE_INPUTS.replace('inputs', 'qkv'), 'x', ['Wq', 'Wk', 'Wv'], ['Q', 'K', 'V']],
        ['#panel=steps&step=product', 'Q', ['Kᵀ'], ['Scores']],
        ['#panel=steps&step=output', 'Weights', ['V'], ['Output']]];
    for (const [link, left, above, corner] of products) {
        await open(link);
        const at = await places();
        corner.forEach((name, n) => {
            checks.equal(at[name].tops, at[left].tops, `${what}: rows of ${left} and ${name}`);
            checks.equal(at[name].lefts, at[above[n]].lefts, `${what}: columns of ${above[n]} and ${name}`);
            checks.check(at[above[n]].tops[1] < at[name].tops[0] && at[left].lefts[1] < at[name].lefts[0],
                `${what}: ${name} is in the corner`);
        });
        checks.equal((await texts('#steps-matrices .sign')).sort(), ['=', '×'], `${what}: signs of ${link}`);
    }
    await open('#panel=steps&numbers=000&step=product');
    await browser.type(await cell('Kᵀ', 2, 0), '5');
    await stage(2);
    checks.equal((await tables('steps')).K[0], ['0', '1', '5'], `${what}: a number of K, changed where it is turned over`);
    await browser.resize(390, 844);
    await open('#panel=steps&step=product');
    const { Q, Kᵀ, Scores } = await places();
    checks.check(Q.tops[0] < Kᵀ.tops[0] && Kᵀ.tops[0] < Scores.tops[0], `${what}: one below the other on a phone`);
    await browser.resize(1280, 800);
}

async function showsSums() {
    await open(THREE_INPUTS);
    await stage(2);
    await browser.hover(await cell('Q', 2, 1));
    await says('#steps-sum', '1 × 0 + 1 × 0 + 1 × 0 + 1 × 1 = 1', 'sum of Q');
    await stage(3);
    await browser.hover(await cell('Scores', 1, 2));
    await says('#steps-sum', '2 × 2 + 2 × 3 + 2 × 1 = 12', 'sum of a score');
    checks.equal(await count('#steps .source'), 6, `${what}: the six numbers it came from`);
    await stage(6);
    await browser.hover(await cell('Weights', 1, 2));
    await says('#steps-sum', 'exp(12 − 16) ÷ (exp(4 − 16) + exp(16 − 16) + exp(12 − 16))', 'sum of a weight');
    await stage(7);
    await browser.click(await cell('Weights', 2, 0));
    await browser.hover(await cell('Weighted values', 1, 1));
    await says('#steps-sum', 'input 2: its weight × its value = 8.80536902e-01 × 8 = ', 'a weighted value');
    await open('#panel=steps&step=output');
    await browser.hover(await cell('Output', 1, 0));
    await says('#steps-sum', '0.14 × 0.43 + 0.24 × 0.55 + 0.23 × 0.57 + 0.12 × 0.22 + 0.11 × 0.77 + 0.16 × 0.05 = 0.44 ' +
        '(in the 2 digits shown)', 'a sum in the digits shown');
    await open(THREE_INPUTS);
    await stage(5);
    await browser.set('#steps-mask', 'causal');
    await browser.hover(await cell('Masked scores', 0, 1));
    await says('#steps-sum', 'input 2 comes after input 1', 'a hidden score');
    await stage(6);
    const { Weights, 'Masked scores': masked } = await tables('steps');
    checks.equal([Weights[0], masked[0][1]], [['1', '0', '0'], '−∞'], `${what}: the first query sees itself alone`);
    await stage(5);
    await browser.set('#steps-mask', '');
    await stage(6);
    checks.check(!('Masked scores' in await tables('steps')), `${what}: no masked scores where nothing is masked`);
}

// All stages by themselves: cells appear one by one, and it can be stopped, and goes on.
async function plays() {
    await open('#panel=steps&numbers=000&step=product');
    for (let n = 0; n < 4; n++) await browser.click('#steps-faster');
    const filled = async () => (await tables('steps')).Q?.flat().filter(Boolean).length;
    await browser.click('#steps-play');
    await says('#steps-title', '1. Inputs', 'it begins at the beginning');
    for (let n = 0; n < 50 && !(await text('#steps-title')).startsWith('2'); n++) await rest(20);
    checks.equal(await filled(), 0, `${what}: empty at first`);
    const seen = new Set(), sums = new Set();
    for (let n = 0; n < 20; n++) {
        await rest(60);
        seen.add(await filled());
        sums.add(await text('#steps-sum'));
    }
    checks.check(seen.size > 2 && sums.size > 5, `${what}: cells ${[...seen]}, and ${sums.size} sums`);
    await browser.click('#steps-play');
    const [title, sum] = [await text('#steps-title'), await text('#steps-sum')];
    await rest(400);
    checks.equal([await text('#steps-title'), await text('#steps-sum')], [title, sum], `${what}: a pause`);
    await browser.click('#steps-play');
    for (let n = 0; n < 300 && !(await text('#steps-title')).startsWith('8'); n++) await rest(100);
    await says('#steps-title', '8. Output', 'it comes to the last step');
    await browser.click('#steps-play');
    await rest(500);
    const follow = (link) => browser.evaluate((link) => { location.hash = link; }, link);
    await follow('#panel=steps&numbers=003&step=output');
    await rest(500);
    checks.equal([(await tables('steps')).Output[0].filter(Boolean).length, await text('#steps-play')], [3, '▶ Play'],
        `${what}: a link ends it`);
    await follow('#panel=steps&numbers=000&step=qkv');
    await rest(100);
    checks.equal(await filled(), 9, `${what}: all numbers are there where it is left`);
    await browser.prefer({ dark: false, reducedMotion: true });
    await open();
    const isShown = await browser.evaluate(() => document.querySelector('#steps-play').getClientRects().length);
    checks.equal(isShown, 0, `${what}: not where reduced motion is asked for`);
    await browser.prefer({ dark: false });
}

async function takesNumbers() {
    await open(THREE_INPUTS);
    await stage(1);
    await browser.type(await cell('x', 0, 0), '3');
    await stage(2);
    checks.equal((await tables('steps')).Q[0], ['3', '0', '4'].map((n) => `${n}.00000000`), `${what}: Q of another x`);
    await browser.type(await cell('Q', 1, 1), '12');
    checks.equal(await browser.evaluate(() => document.activeElement.value), '12', `${what}: a box keeps the focus`);
    await browser.click('#notice button');
    await browser.type(await cell('Q', 1, 1), '-7');
    await says('#notice', 'Q, K and V are now numbers of your own', 'a changed Q');
    await stage(3);
    checks.equal((await tables('steps')).Scores[1][1], '−20.00000000', `${what}: 2 × 4 − 7 × 4 + 2 × 0`);
    await browser.click('#notice button');
    await stage(2);
    checks.equal((await tables('steps')).Q[1], ['2', '2', '2'].map((n) => `${n}.00000000`), `${what}: undone`);
    const box = await cell('x', 0, 0);
    await browser.type(box, 'abc');
    await says('#notice', '“abc” is no number', '"abc" typed');
    await browser.press('Tab');
    await browser.type(box, '3');
    for (const [typed, said] of [['', 'is empty'], ['-', '“-” is no number'], ['.', '“.” is no number']]) {
        await browser.type(box, typed);
        checks.equal(await text('#notice'), '', `${what}: "${typed}" is no error while it is typed`);
        await browser.press('Tab');
        await says('#notice', said, `"${typed}" left`);
        const left = await browser.evaluate((s) => document.querySelector(s).value, box);
        checks.equal(left, '3', `${what}: "${typed}" changes nothing`);
        await browser.type(box, '3');
    }
    await browser.type(box, '1e');
    checks.equal(await text('#notice'), '', `${what}: "1e" is no error while it is typed`);
    await browser.type(box, '3');
    const unusual = [['NaN', 'NaN or infinite'], ['1e999', 'NaN or infinite'],
        ['1e308', 'V has a number that is NaN or infinite']];
    for (const [typed, said] of unusual) {
        await browser.type(box, typed);
        await says('#steps-remark', said, `"${typed}" typed`);
    }
    await browser.set('#steps-type', 'f32').catch(() => {});
    await browser.evaluate(() => { document.querySelector('#steps details').open = true; });
    await browser.set('#steps-type', 'f32');
    await says('#steps-remark', 'beyond the largest float', '1e308 as a float');
    await browser.type('#steps-lq', '99');
    await browser.press('Tab');
    await says('#notice', 'no whole number from 1 to 12', '99 queries');
    for (const [id, count] of [['lq', 12], ['lk', 12], ['d', 8], ['dv', 8], ['lk', 1], ['d', 1]]) {
        await browser.type(`#steps-${id}`, String(count));
        await browser.press('Tab');
    }
    await stage(8);
    const { Output, V } = await tables('steps');
    checks.equal([Output.length, Output[0].length, V.length], [12, 8, 1], `${what}: sizes`);
}

async function takesSentences() {
    await open();
    await browser.type('#steps-sentence', 'the cat sees the dog');
    await stage(2);
    const before = await tables('steps');
    checks.equal(before.Q[0], before.Q[3], `${what}: the same word has the same query`);
    checks.check(JSON.stringify(before.Q[0]) !== JSON.stringify(before.Q[1]), `${what}: another word has another`);
    await stage(8);
    const labels = await texts('#steps-matrices figure:first-child th[scope=row]');
    checks.equal(labels, ['the', 'cat', 'sees', 'the', 'dog'], `${what}: its words`);
    await browser.type('#steps-sentence', ' ');
    await says('#notice', 'The sentence is empty', 'an empty sentence');
    await browser.type('#steps-sentence', 'x '.repeat(40));
    await says('#notice', 'at most 12 words', 'forty words');
    await browser.type('#steps-sentence', '<img src=x onerror=alert(1)> & "quoted" 🙂');
    checks.equal(await count('main img'), 0, `${what}: a sentence is text`);
}

async function goesByKeys() {
    await open(THREE_INPUTS);
    await stage(3);
    await browser.evaluate((s) => document.querySelector(s).focus(), await cell('Scores', 0, 0));
    await browser.press('ArrowRight');
    await browser.press('ArrowDown');
    await says('#steps-sum', 'score of input 2 with input 2', 'arrow keys');
    await browser.press('End');
    await says('#steps-sum', 'score of input 2 with input 3', 'the End key');
    await browser.evaluate(() => document.querySelector('#tab-steps').focus());
    await browser.press('ArrowRight');
    checks.equal(await browser.evaluate(() => document.activeElement.id), 'tab-masking', `${what}: tabs by arrow keys`);
    const isShown = await browser.evaluate(() => !document.querySelector('#masking').hidden);
    checks.check(isShown, `${what}: its panel is shown`);
}

// ---- panel 2 ----

// The options of the parts of example 06, by number.
const EXAMPLE_06 = [
    [1, { lq: 6, lk: 6, causal: 0 }],
    [2, { lq: 4, lk: 7, causal: 1 }],
    [3, { lq: 4, causal: 2 }],
    [4, { lk: 4, causal: 2 }],
    [5, { lq: 4, causal: 3, offset: 2 }],
    [6, { lq: 6, lk: 6, causal: 3, offset: -2 }],
    [7, { causal: 0, left: 3, right: 2 }],
    [8, { lq: 5, causal: 2, left: 3 }],
];

async function masks() {
    const output = run(build, '06_causal_and_windows', `${build}/page`);
    const seen = (number) => {
        const part = output.split('\n== ').find((text) => text.startsWith(`${number}. `));
        const lines = part.split('\n').filter((line) => line.startsWith('query'));
        return lines.map((line) => line.split(/\s+/).slice(2, -3).join(''));
    };
    const shown = () => browser.evaluate(() => {
        const mark = (td) => td.classList.contains('hidden-key') ? '.' : '#';
        const marks = (row) => Array.from(row.querySelectorAll('td'), mark).join('');
        return Array.from(document.querySelectorAll('#masking-map tbody tr'), marks);
    });
    const given = async (settings) => {
        await open('#panel=masking');
        for (const [id, value] of Object.entries(settings)) await browser.set(`#masking-${id}`, value);
    };
    for (const [number, settings] of EXAMPLE_06) {
        await given(settings);
        for (const [id, value] of [['left', 2], ['right', 1]])
            if (id in settings) await browser.set(`#masking-${id}`, value);
        checks.equal(await shown(), seen(number), `${what}, masking, ${number}`);
    }
    await given({ causal: 1 });
    await browser.hover('#masking-map [data-r="2"][data-c="4"]');
    await says('#masking-sum', '“neighbour” comes after “my” (causal)', 'why a key is hidden');
    await browser.hover('#masking-map [data-r="2"][data-c="1"]');
    await says('#masking-sum', 'Weight: exp(', 'where a weight comes from');
    await says('#masking-explain', 'computed in float', 'explain');
    const first = JSON.stringify(await tables('masking'));
    for (const [id, value] of [['alibi', 1], ['softcap', 2], ['sink', 2], ['temperature', 3]]) {
        await given({ [id]: value });
        checks.check(JSON.stringify(await tables('masking')) !== first, `${what}: ${id} changes the picture`);
    }
    await given({ kvlen: 3 });
    const pastIsHidden = async () => (await shown()).every((row) => row.slice(3) === '....');
    checks.check(await pastIsHidden(), `${what}: keys past the valid ones are hidden`);
    await browser.click('#masking-kvlen-on');
    checks.check(!await pastIsHidden(), `${what}: the length is off`);
    for (const [typed, said] of [['99', 'is no number from 0.1 to 5'], ['', 'is no number']]) {
        await browser.type('#masking-temperature-number', typed);
        await says('#notice', said, `a temperature of "${typed}"`);
    }
}

// ---- panel 3 ----

async function translates() {
    const sentence = 'Every man can read your sentence with computers today';
    const output = run(build, '05_translate', 'examples/models/bundled', sentence).trim();
    await open('#panel=translation');
    await browser.type('#translation-source', sentence);
    await rest(900);
    checks.equal(await text('#translation-target'), output, `${what}: ${sentence}`);
    const knowsAll = await browser.evaluate(() => document.querySelector('#translation-unknown').hidden);
    checks.equal(knowsAll, true, `${what}: it knows these words`);
    const read = await count('#translation-read span'), written = await count('#translation-written span');
    for (const [part, cells] of [['cross', read * written], ['encoder', read * read], ['decoder', written * written]]) {
        await browser.set('#translation-part', part);
        const heads = await count('#translation-heads canvas'), weights = await count('#translation-map [data-r]');
        checks.equal([heads, weights], [13, cells], `${what}: heads of ${part}, and their mean`);
        const hidden = await count('#translation-map td.hidden-key');
        checks.equal(hidden, part === 'decoder' ? written * (written - 1) / 2 : 0, `${what}: hidden in ${part}`);
    }
    await browser.click('#translation-heads button:nth-child(7)');
    await says('#translation-map', 'Layer 2, head 3', 'a head that was pressed');
    await browser.hover('#translation-map [data-r="1"][data-c="0"]');
    await says('#translation-sum', 'this head takes', 'a weight');
    await browser.click('#translation-heads button:nth-child(13)');
    await says('#translation-map', 'Mean of all heads', 'the mean');
    await browser.set('#translation-part', 'cross');
    const [output1, map] = await browser.evaluate(() => ['#translation-target', '#translation-map'].map((selector) =>
        document.querySelector(selector).getBoundingClientRect()));
    checks.check(map.top - output1.bottom < 60, `${what}: the map is ${map.top - output1.bottom} px below the French`);
    const tinted = (id) => browser.evaluate((id) => Array.from(document.querySelectorAll(`#translation-${id} span`),
        (token) => token.style.background).filter(Boolean).length, id);
    await browser.hover('#translation-written span:nth-child(3)');
    checks.equal([await tinted('read'), await tinted('written')], [read, 0], `${what}: what a token looks at`);
    await says('#translation-sum', 'looks most at', 'a token written');
    await browser.hover('#translation-read span:nth-child(3)');
    checks.equal([await tinted('read'), await tinted('written')], [0, written], `${what}: from where it is looked at`);
    await browser.evaluate(() => document.querySelector('#translation-read span').focus());
    await says('#translation-sum', 'is looked at most from', 'a token read');
    await browser.set('#translation-part', 'decoder');
    await browser.hover('#translation-written span:nth-child(3)');
    checks.equal([await tinted('written'), await count('#translation-written .hidden-key')], [2, written - 3],
        `${what}: what a token cannot see is hatched`);
    checks.equal((await text('#translation-sum')).match(/\d\.\d\d/g).length, 3, `${what}: it looks at what it sees`);
    await browser.set('#translation-part', 'cross');
    await browser.evaluate(() => { document.querySelector('#translation-tree').closest('details').open = true; });
    checks.check(await count('#translation-tree rect') > 8, `${what}: beams`);
    await browser.set('#translation-beams', 1);
    checks.equal(await count('#translation-tree rect'), written - 1, `${what}: one beam`);
    await says('#translation-trust', 'sure, as where', 'a sentence that it knows');
    await browser.type('#translation-source', 'with with dog dog it it');
    await rest(900);
    await says('#translation-trust', 'probably wrong', 'no sentence');
    await browser.type('#translation-source', 'The zebra eats <b>Apples</b>');
    await rest(900);
    const marked = await texts('#translation-unknown mark');
    checks.equal(marked, ['zebra', '<b>Apples</b>'], `${what}: unknown words are marked`);
    await browser.type('#translation-source', `${'W'.repeat(100)} dog`);
    await rest(900);
    await says('#translation-score', 'cut after 100 tokens', 'a translation without an end');
    const excess = await browser.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    checks.equal(excess, 0, `${what}: a long word is no wider than the window`);
    await browser.type('#translation-source', '');
    await rest(500);
    await says('#notice', 'The sentence is empty', 'no sentence');
    await browser.click('#translation-words summary');
    await browser.click('#translation-list button:nth-child(20)');
    checks.check((await text('#translation-target')).length > 0, `${what}: a word of the list is translated`);
    await browser.click('#translation-another');
    checks.check((await text('#translation-target')).split(' ').length > 2, `${what}: another sentence`);
}

// Heads that are switched off or made uniform: the sentence is translated again, and the change is marked.
async function knocksOut() {
    await open('#panel=translation');
    const french = await text('#translation-target'), score = await text('#translation-score');
    const isBefore = () => browser.evaluate(() => !document.querySelector('#translation-before').hidden);
    checks.check(!await isBefore(), `${what}: nothing is changed at first`);
    await browser.click('#translation-example');
    checks.equal(await count('#translation-heads .off'), 1, `${what}: the head of the example is crossed out`);
    await says('#translation-before', 'This head looked back', 'what it was for');
    await says('#translation-trained', 'Layer 1, head 2, as trained', 'what it looked at');
    checks.check((await text('#translation-target')).length > 2 * french.length, `${what}: words come again`);
    await browser.click('#translation-as-trained');
    await browser.set('#translation-part', 'decoder');
    await browser.click('#translation-heads button:nth-child(1)');
    await browser.set('#translation-layer-change', 1);
    const [other, marks] = [await text('#translation-target'), await count('#translation-target mark')];
    checks.check(other !== french && await isBefore(), `${what}: a layer off: ${other}`);
    checks.equal(await count('#translation-heads .off'), 4, `${what}: four heads are crossed out`);
    const gone = await texts('#translation-before del'), words = (s) => s.split(' ');
    checks.equal(marks, words(other).length - (words(french).length - gone.length), `${what}: words come and gone`);
    checks.check(marks + gone.length > 0, `${what}: ${marks} words are marked, and ${gone} are struck`);
    await says('#translation-before', score, 'the score as trained');
    await says('#translation-trust', 'heads are changed', 'a score of changed heads');
    const weights = () => browser.evaluate(() => new Set(Array.from(
        document.querySelectorAll('#translation-map [data-r]'),
        (cell) => cell.getAttribute('aria-label').replace('hidden ', ''))).size);
    checks.equal(await weights(), 1, `${what}: all its weights are 0`);
    await browser.set('#translation-head-change', 2);
    checks.equal(await count('#translation-heads .uniform'), 1, `${what}: one head is uniform`);
    const [layer] = await texts('#translation-layer-change option:checked');
    checks.equal(layer, 'mixed', `${what}: the heads of the layer`);
    const third = await browser.evaluate(() => Array.from(document.querySelectorAll('#translation-map [data-r="2"]'),
        (cell) => cell.getAttribute('aria-label')));
    checks.equal(third.slice(0, 4), ['0.33', '0.33', '0.33', 'hidden 0.00'], `${what}: a uniform row`);
    const link = await hash();
    checks.check(link.includes('decoder-1-1-uniform') && link.includes('decoder-1-2-off'), `${what}: ${link}`);
    await browser.set('#translation-part', 'encoder');
    await browser.set('#translation-head-change', 1);
    checks.equal(await count('#translation-heads .off'), 1, `${what}: a head of the encoder`);
    await browser.set('#translation-part', 'cross');
    await browser.set('#translation-head-change', 1);
    checks.equal(await count('#translation-heads .off'), 1, `${what}: a head of cross-attention`);
    await browser.click('#translation-as-trained');
    checks.equal([await text('#translation-target'), await isBefore()], [french, false], `${what}: all as trained`);
    const changed = '#panel=translation&part=decoder&layer=1&head=mean&changed=decoder-1-1-uniform,cross-3-2-off';
    await open(changed);
    checks.equal([await count('#translation-heads .uniform'), await isBefore()], [1, true], `${what}: a link`);
    await rest(400);
    checks.check((await hash()).includes('changed=decoder-1-1-uniform%2Ccross-3-2-off'), `${what}: ${await hash()}`);
    await open('#panel=translation&changed=cross-3-9-off,nonsense,cross-1.5-1-off');
    await says('#notice', '“cross-1.5-1-off”', 'a link to half a layer');
    await says('#notice', '“cross-3-9-off”', 'a link to a head that there is not');
    await says('#notice', '“nonsense”', 'a link to nothing');
}

// Gives files to the page, as one who chooses them, or drops them.
const giveFiles = (files, isDropped) => browser.evaluate((files, isDropped) => {
    const transfer = new DataTransfer();
    for (const [name, base64] of files)
        transfer.items.add(new File([Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))], name));
    if (isDropped) {
        const drop = new DragEvent('drop', { dataTransfer: transfer, bubbles: true });
        document.querySelector('#translation').dispatchEvent(drop);
    } else {
        document.querySelector('#own-files').files = transfer.files;
        document.querySelector('#own-files').dispatchEvent(new Event('change'));
    }
}, files, isDropped);

// Runs a script in the page, where it sees the page's own.
const runInPage = (script) => browser.evaluate((script) => {
    const element = document.createElement('script');
    element.textContent = script;
    document.head.append(element);
    element.remove();
}, script);

// A model of the reader's own is at work in a moment, and says so.
async function translated() {
    for (let n = 0; n < 80 && (await text('#translation-score')).startsWith('translating'); n++) await rest(50);
}

// The reader's own model, as a directory and as a GGUF: what the program says of the same files.
async function takesModels() {
    const golden = 'examples/models/tests/golden', base64 = (path) => readFileSync(path).toString('base64');
    const directory = (name) => readdirSync(`${golden}/t5/${name}`).filter((file) => !/golden|changes/.test(file))
        .map((file) => [file, base64(`${golden}/t5/${name}/${file}`)]);
    const sentence = 'the cat sees', said = (path) => run(build, '05_translate', '--beams', '4', '--max-length', '100',
        path, sentence).replace(/\n$/, '');
    const models = [['t5_f32', directory('t5_f32'), `${golden}/t5/t5_f32`, false],
        ['v1_1_f32', directory('v1_1_f32'), `${golden}/t5/v1_1_f32`, true],
        ['t5_f16.gguf', [['t5_f16.gguf', base64(`${golden}/gguf/t5_f16.gguf`)]], `${golden}/gguf/t5_f16.gguf`, true]];
    await open('#panel=translation');
    await browser.type('#translation-source', sentence);
    await rest(600);
    const french = await text('#translation-target');
    let before = french;
    for (const [name, files, path, isDropped] of models) {
        await giveFiles(files, isDropped);
        await says('#own-says', 'MB. A sentence takes about', `${name}: size and time before it runs`);
        checks.equal(await text('#translation-target'), before, `${what}: ${name} does not run yet`);
        await browser.click('#own-use');
        for (let n = 0; n < 40 && !(await text('#own-says')).startsWith('Your model'); n++) await rest(100);
        await says('#own-says', 'Your model translates', name);
        await translated();
        checks.equal((await text('#translation-target')).replace(/\s+/g, ' '), said(path).replace(/\s+/g, ' '),
            `${what}: ${name} says what the program says`);
        const isShown = await browser.evaluate(() => ['trust', 'bounds', 'small', 'another', 'words', 'example']
            .some((id) => document.querySelector(`#translation-${id}`).getClientRects().length));
        checks.check(!isShown && await count('#translation-heads canvas') > 1, `${what}: ${name}: heads, and no badge`);
        const says1 = await browser.evaluate(() => {
            const layer = document.querySelector('#translation-layer-change');
            layer.value = '1';
            layer.dispatchEvent(new Event('change'));
            return document.querySelector('#translation-score').textContent;
        });
        checks.equal(says1, 'translating …', `${what}: ${name}: it is at work`);
        await translated();
        checks.check((await count('#translation-heads .off')) > 0, `${what}: ${name}: heads can be switched off`);
        await browser.click('#translation-as-trained');
        await translated();
        before = await text('#translation-target');
    }
    checks.check((await hash()).includes('model=own'), `${what}: the link says that it was another model`);
    await browser.click('#own-back');
    checks.equal(await text('#translation-target'), french, `${what}: the small model is back`);
    const [all] = models.map(([, files]) => files), config = all.find(([name]) => name === 'config.json');
    const broken = all.map(([name, bytes]) => [name, name === 'model.safetensors' ? bytes.slice(0, 4000) : bytes]);
    const mistakes = [[all.filter((file) => file !== config), 'config.json is missing'],
        [[['notes.txt', 'YQ==']], 'None of these files'], [[config], 'model.safetensors is missing'],
        [[...models[2][1], config], 'A GGUF stands for itself']];
    for (const [files, message] of mistakes) {
        await giveFiles(files, true);
        await says('#own-says', message, 'files that are no model');
    }
    await giveFiles([...broken, ['notes.txt', 'YQ==']], false);
    await says('#own-says', 'Left out: notes.txt', 'another file');
    await browser.click('#own-use');
    for (let n = 0; n < 40 && (await text('#own-says')).startsWith('Reading'); n++) await rest(100);
    await says('#own-says', 'This model cannot be used: ', 'a broken file');
    checks.equal(await text('#translation-target'), french, `${what}: the small model stays`);
    await runInPage("own.take([{ name: 'model.gguf', size: 3e9 }])");
    await says('#own-says', 'These files have 3000 MB', 'a model that is too large');
    checks.equal(await count('#own-use[hidden]'), 1, `${what}: it cannot be used`);
    await runInPage(`{ // no room for a byte more
        const { open } = Engine.prototype;
        Engine.prototype.open = function (path) {
            Engine.prototype.open = open;
            const { memory } = this.exports;
            memory.grow(65536 - memory.buffer.byteLength / 65536);
            return this.open(path);
        };
    }`);
    await giveFiles(all, false);
    await browser.click('#own-use');
    for (let n = 0; n < 40 && (await text('#own-says')).startsWith('Reading'); n++) await rest(100);
    await says('#own-says', 'MB do not fit into this page’s memory', 'memory that is full');
    checks.equal(await text('#translation-target'), french, `${what}: and the small model stays`);
    await open('#panel=translation&model=own&text=the+cat+sees&part=encoder&layer=2&head=3&changed=encoder-2-3-off');
    await says('#notice', 'choose its files', 'a link made with another model');
    checks.equal([await text('#translation-target'), await count('#translation-heads .off')], [french, 0],
        `${what}: its changes are not those of the small model`);
    await giveFiles(all, false);
    await browser.click('#own-use');
    for (let n = 0; n < 40 && !(await text('#own-says')).startsWith('Your model'); n++) await rest(100);
    await translated();
    checks.equal(await count('#translation-heads .off'), 1, `${what}: the model of the link has its changes`);
    await says('#translation-map', 'Layer 2, head 3', 'and its head');
    await rest(400);
    checks.check(/model=own/.test(await hash()) && /encoder-2-3-off/.test(await hash()), `${what}: ${await hash()}`);
}

// ---- panel 4 ----

const stepShown = async () => Number((await text('#training-status')).match(/Step (\d+)/)[1]);
const pictures = () => browser.evaluate(() => Number(document.querySelector('#training-look').max));
const drawn = () => browser.evaluate(() => Array.from(document.querySelectorAll('#training-heads canvas'),
    (canvas) => canvas.toDataURL()).join());
const pointsOfLines = () => browser.evaluate(() => {
    const lines = Array.from(document.querySelectorAll('#training-chart path[fill=none]'));
    return lines.map((line) => line.getAttribute('d').split(/[ML]/).length - 1);
});

async function trains() {
    await open('#panel=training');
    await says('#training-status', 'Step 0 of 1000', 'before training');
    await browser.click('#training-step');
    await says('#training-status', 'Step 1 of 1000. Loss of new letters 2.82', 'one step');
    await browser.set('#training-speed', 25);
    await browser.click('#training-run');
    await rest(700);
    await browser.click('#training-run');
    const step = await stepShown();
    checks.check(step > 5 && step < 250, `${what}: training goes on, to step ${step}`);
    checks.equal(await pictures(), step, `${what}: a picture a step`);
    checks.equal(await pointsOfLines(), [step, step], `${what}: two lines of so many points`);
    await rest(300);
    await says('#training-status', `Step ${step} of`, 'a pause');
    await open('#panel=training&at=250&pace=25');
    await trainedTo(250);
    const status = 'Step 250 of 1000. Loss of new letters 3.07, of repeated ones 0.11';
    await says('#training-status', status, 'the loss that the example prints');
    const shares = '0.77 goes to the letter before, 0.01 to what followed';
    await says('#training-heads', shares, 'what the example prints of layer 1');
    await browser.hover('#training-heads figure:nth-child(4) canvas');
    await says('#training-sum', 'layer 2, head 2: letter 1', 'a weight that is pointed at');
    await browser.evaluate(() => document.querySelector('#training-heads canvas').focus());
    for (const key of ['ArrowDown', 'ArrowDown', 'ArrowRight']) await browser.press(key);
    await says('#training-sum', 'layer 1, head 1: letter 3', 'a weight, by keys');
    await says('#training-sum', 'Here a head comes to look', 'a weight where a head comes to look');
    await browser.click('#training-step');
    checks.equal([await stepShown(), await pictures()], [251, 251], `${what}: one step more`);
    await browser.click('#training-run');
    await rest(700);
    await browser.click('#training-run');
    const [last, count] = [await stepShown(), await pictures()];
    checks.equal(count, 251 + Math.ceil((last - 251) / 25), `${what}: 25 steps a picture, to step ${last}`);
}

async function looksBackAtTraining() {
    await open('#panel=training&at=60');
    await trainedTo(60);
    const newest = await drawn();
    await browser.set('#training-look', 7);
    const then = [await text('#training-status'), await drawn()];
    await says('#training-status', 'Step 7 of', 'the slider back');
    checks.equal(await pointsOfLines(), [7, 7], `${what}: the losses that were`);
    checks.check((await hash()).includes('look=7'), `${what}: the link looks back`);
    await browser.set('#training-look', 60);
    checks.equal([await stepShown(), await drawn() === newest], [60, true], `${what}: the newest again`);
    await browser.set('#training-look', 7);
    checks.equal([await text('#training-status'), await drawn()], then, `${what}: the same picture`);
    await browser.click('#training-step');
    checks.equal(await stepShown(), 61, `${what}: training goes on from the newest step`);
    await open('#panel=training&at=60&look=7');
    for (let n = 0; n < 60 && await stepShown() !== 7; n++) await rest(100);
    checks.equal([await text('#training-status'), await pictures()], [then[0], 60], `${what}: a link that looks back`);
}

// The cells of a head that have a frame, which alone is more red than blue: [row, column] of each.
const framesOf = (n) => browser.evaluate((n) => {
    const canvas = document.querySelectorAll('#training-heads canvas')[n], side = canvas.width / 24;
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    const pixel = (r, c) => data.subarray(4 * (canvas.width * Math.round((r + 0.5) * side) + c * side));
    const cells = Array.from({ length: 24 * 24 }, (_, i) => [Math.floor(i / 24), i % 24]);
    return cells.filter(([r, c]) => pixel(r, c)[0] > pixel(r, c)[2] + 40);
}, n);

async function framesWhereHeadsLook() {
    await browser.resize(1200, 900);
    await open('#panel=training&at=3');
    await trainedTo(3);
    const letters = await texts('#training-letters tr:first-child td');
    const cells = letters.flatMap((_, r) => letters.map((_, c) => [r, c]));
    const before = cells.filter(([r, c]) => c === r - 1);
    const followed = cells.filter(([r, c]) => c >= 1 && c <= r && letters[c - 1] === letters[r]);
    for (const n of [0, 1, 2, 3])
        checks.equal(await framesOf(n), n < 2 ? before : followed, `${what}: frames of map ${n}`);
    await browser.hover('#training-heads canvas');
    const bottom = await browser.evaluate(() => document.querySelector('#training').getBoundingClientRect().bottom);
    checks.check(bottom <= 900, `${what}: all of training is in the window, which it leaves at ${bottom}`);
    await browser.resize(1280, 800);
}

// ---- panel 5 ----

async function cachesTokens() {
    await open('#panel=cache&step=1');
    const framed = (id) => count(`#cache-${id} figure:first-child td.framed`);
    const words = (await texts('#cache-words span')).length;
    for (let step = 1; step <= words; step++) {
        checks.equal([await framed('without'), await framed('cached')], [8 * step, 8], `${what}: new at step ${step}`);
        checks.equal(await count('#cache-costs tbody tr'), step, `${what}: costs of ${step} steps`);
        await browser.click('#cache-next');
    }
    await says('#cache-costs-without', 'Step 8: 2,112 multiplications, 8,832 in all', 'without a cache');
    await says('#cache-costs-cached', 'Step 8: 320 multiplications, 2,112 in all', 'with a cache');
    const isLast = await browser.evaluate(() => document.querySelector('#cache-next').disabled);
    checks.check(isLast, `${what}: no token after the last`);
    const { 'Weights, all computed': all, 'Weights of the new word': row } = await tables('cache');
    const isNear = all[7].every((w, n) => Math.abs(w - row[0][n]) <= 0.011);
    checks.check(isNear, `${what}: ${all[7]} are the weights ${row[0]}`);
    await browser.click('#cache-back');
    await says('#cache-costs-cached', 'Step 7', 'back');
    await browser.click('#cache-begin');
    await says('#cache-costs-cached', 'Step 1: 208', 'begun anew');
    await browser.click('#cache-play');
    await rest(1500);
    await browser.click('#cache-play');
    const played = await text('#cache-costs-cached');
    checks.check(/^Step [23]:/.test(played), `${what}: tokens that come by themselves: ${played}`);
    await rest(1400);
    checks.equal(await text('#cache-costs-cached'), played, `${what}: a pause`);
}

async function keepsTypes() {
    await open('#panel=cache&step=6');
    for (const [type, bytes] of [['f32', 64], ['f16', 32], ['i8', 24]]) {
        await browser.set('#cache-type', type);
        await says('#cache-costs-cached', `${6 * bytes} bytes are kept: ${bytes} for`, `bytes of ${type}`);
        const errors = (await tables('cache'))['Error of these weights'].flat();
        checks.equal(errors.every((x) => x === '0'), type === 'f32', `${what}: errors of ${type}: ${errors}`);
    }
    await browser.hover('#cache-errors figure:nth-child(2) [data-r="1"][data-c="0"]');
    await says('#cache-sum', 'with a cache of i8, and', 'an error');
    await browser.hover('#theme'); // where nothing comes under the pointer when the page moves
    await browser.evaluate(() => document.querySelector('#cache-cached [data-r="0"]').focus());
    await browser.press('ArrowRight');
    await says('#cache-sum', 'Number 2 of the key of word 1, “the”', 'a key, by keys');
    await says('#cache-sum', 'kept since step 1', 'a key that is kept');
    await browser.type('#cache-sentence', 'x '.repeat(20));
    await says('#notice', 'at most 16 words', 'twenty words');
    await browser.type('#cache-sentence', ' ');
    await says('#notice', 'The sentence is empty', 'an empty sentence');
    checks.equal(await count('#cache-words span'), 16, `${what}: the words stay`);
}

// ---- saving, links, appearance ----

async function saves() {
    const parts = { steps: '>0.24<', masking: 'neighbour', translation: 'transformateurs', training: 'repeated letters',
        cache: 'eights' };
    for (const [panel, part] of Object.entries(parts)) {
        await open(panel === 'steps' ? '#panel=steps&step=weights' : `#panel=${panel}`);
        const { name, text: svg } = await browser.download(() => browser.click('#export'));
        const root = await browser.evaluate((svg) => {
            const document = new DOMParser().parseFromString(svg, 'image/svg+xml');
            const mistakes = document.querySelectorAll('parsererror').length;
            return [document.documentElement.localName, mistakes, /undefined|NaN/.test(svg)];
        }, svg);
        checks.equal([name, ...root], [`attention-${panel}.svg`, 'svg', 0, false], `${what}: saved`);
        checks.check(svg.includes(part), `${what}: ${name} holds ${part}`);
    }
    await open('#panel=steps&step=weights&mask=causal');
    const { text: masked } = await browser.download(() => browser.click('#export'));
    checks.check(masked.includes('>hidden<') && masked.includes('<pattern id="hatched"'), `${what}: hidden, hatched`);
    await open('#panel=steps&numbers=own&q=nan,1;-8,3&k=1,2;3,1&v=1;2&step=product');
    const { text: odd } = await browser.download(() => browser.click('#export'));
    checks.check(odd.includes('>NaN<') && !odd.includes('>hidden<'), `${what}: NaN is no hidden key`);
    await open('#panel=translation&text=');
    await browser.click('#export');
    await says('#notice', 'no translation to save', 'nothing to save');
    await browser.press('Escape');
    checks.equal(await text('#notice'), '', `${what}: Escape takes a notice away`);
}

// Changes of every panel, which its link must keep.
const CHANGES = {
    async steps() {
        await browser.set('#steps-preset', '002');
        await stage(5);
        await browser.set('#steps-mask', 'causal');
        await stage(2);
        await browser.type(await cell('K', 1, 1), '0.125');
        await stage(7);
        await browser.click(await cell('Weights', 2, 1));
    },
    async sentence() {
        await browser.type('#steps-sentence', 'what & is | this # 100% ; "ok"?');
        await stage(8);
    },
    async words() {
        await browser.type('#steps-sentence', 'a&b x|y #1 😀 %7C ;,=');
        await stage(1);
        await browser.type(await cell('x', 0, 0), '0.5');
        await stage(6);
    },
    async masking() {
        await browser.set('#masking-causal', 3);
        await browser.set('#masking-offset', -1);
        await browser.set('#masking-sink', 1.5);
        await browser.set('#masking-show', 'final');
    },
    async translation() {
        await browser.set('#translation-beams', 2);
        await browser.type('#translation-source', "The boy's dog can't read.");
        await rest(900);
        await browser.set('#translation-part', 'encoder');
        await browser.click('#translation-heads button:nth-child(6)');
        await browser.set('#translation-head-change', 1);
        await browser.click('#translation-heads button:nth-child(13)');
    },
    async training() {
        for (let n = 0; n < 3; n++) await browser.click('#training-step');
        await browser.set('#training-look', 2);
    },
    async cache() {
        await browser.type('#cache-sentence', 'a token & another, 100% |;"= 😀');
        await browser.click('#cache-next');
        await browser.set('#cache-type', 'f16');
    },
};

const BAD_LINKS = [
    '#panel=steps&numbers=own&q=1,2;3&k=x&v=1',
    '#panel=steps&numbers=nonsense',
    '#panel=steps&numbers=004&divisor=1e-40',
    '#panel=steps&step=nope&mask=full&digits=3&type=f16',
    '#panel=steps&numbers=constructor&type=toString&step=__proto__',
    '#panel=__proto__&numbers=constructor',
    '#panel=nope',
    `#panel=translation&part=valueOf&text=${'x'.repeat(3000)}`,
    '#panel=masking&lq=1e9&lk=-3&softcap=NaN&causal=7',
    '#panel=translation&beams=99&layer=0&text=%E0%A4%A',
    '#panel=training&at=-5',
    '#panel=cache&step=0&type=f64',
];

async function keepsLinks() {
    const shown = () => browser.evaluate(() => {
        const parts = ':is(th, td, input, select, output, h2, svg text, canvas)';
        const elements = document.querySelectorAll(`[role=tabpanel]:not([hidden]) ${parts}`);
        return Array.from(elements, (e) => e.value ?? (e.textContent || e.width)).join('|');
    });
    for (const [panel, change] of Object.entries(CHANGES)) {
        await open(`#panel=${['sentence', 'words'].includes(panel) ? 'steps' : panel}`);
        await change();
        const link = await hash(), before = await shown();
        await open(link);
        await rest(400);
        checks.equal(await shown(), before, `${what}: the link ${link}`);
    }
    for (const link of BAD_LINKS) {
        await open(link);
        await rest(300);
        checks.check((await text('#notice')).length > 20, `${what}: the link ${link} is answered by a sentence`);
    }
    await open('#panel=masking&lq=1e9&lk=-3&softcap=NaN&causal=7');
    for (const name of ['lq', 'lk', 'softcap', 'causal'])
        await says('#notice', `“${name}”`, 'all that is wrong with a link');
    await open('#nothing=%&&&==');
    checks.equal(await text('#steps-title'), '5. Scores become weights', `${what}: a link without sense`);
    const odd = encodeURIComponent(`a\u0001b ${'x'.repeat(195)}😀 y`);
    await open(`#panel=steps&numbers=sentence&step=inputs&sentence=${odd}`);
    await browser.type(await cell('x', 0, 0), '2');
    checks.check((await hash()).includes('numbers=own'), `${what}: a link of half a character`);
}

// Another panel is an entry of the history; what changes within one is not.
async function goesBack() {
    await open('#panel=steps&numbers=002');
    await browser.click('#tab-masking');
    await browser.set('#masking-causal', 2);
    await browser.click('#tab-training');
    for (const [panel, link] of [['masking', 'causal=2'], ['steps', 'numbers=002']]) {
        await rest(250);
        await browser.evaluate(() => history.back());
        await rest(250);
        const isShown = await browser.evaluate((id) => !document.querySelector(`#${id}`).hidden, panel);
        checks.check(isShown && (await hash()).includes(link), `${what}: back to ${panel}: ${await hash()}`);
    }
}

const VIEWS = {
    steps: '#panel=steps&numbers=sentence&sentence=the+cat+sees+the+dog&step=output',
    masking: '#panel=masking&left=3&alibi=0.25',
    translation: '#panel=translation',
    training: '#panel=training&at=200&pace=25',
    cache: '#panel=cache&step=6',
};

// Waits until training has come to a step, for 15 seconds at most.
async function trainedTo(step) {
    for (let n = 0; n < 60 && !(await text('#training-status')).startsWith(`Step ${step}`); n++) await rest(250);
}

// A picture of a panel, which is no wider than the window.
async function looksRightOnce(panel, size, dark) {
    const name = `${panel}-${size}-${dark ? 'dark' : 'light'}`;
    await open(VIEWS[panel]);
    if (panel === 'training') await trainedTo(200);
    await browser.screenshot(`${screens}/${browser.name}-${name}.png`);
    const excess = await browser.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (size === 'phone') await isHandy(name);
    const theme = await browser.evaluate(() => document.documentElement.dataset.theme);
    checks.equal(await nameless(), [], `${what}: everything in ${name} has a name`);
    checks.equal(excess, 0, `${what}: ${name} is as wide as the window`);
    checks.equal(theme, dark ? 'dark' : 'light', `${what}: theme of ${name}`);
}

// On a phone the tabs are on one line, and the first matrix is near the top.
async function isHandy(name) {
    const [lines, first] = await browser.evaluate(() => {
        const tops = Array.from(document.querySelectorAll('[role=tab]'), (tab) => tab.offsetTop);
        const maps = document.querySelectorAll('[role=tabpanel]:not([hidden]) :is(.matrix table, canvas)');
        const boxes = Array.from(maps, (map) => map.getBoundingClientRect()).filter(({ width }) => width);
        return [new Set(tops).size, Math.min(...boxes.map(({ top }) => top + scrollY))];
    });
    checks.equal(lines, 1, `${what}: the tabs of ${name} are on one line`);
    checks.check(first <= 330, `${what}: the first matrix of ${name} is ${first} px from the top`);
}

// The beginnings of elements that have no name for a screen reader.
const nameless = () => browser.evaluate(() => {
    const elements = document.querySelectorAll('button, input, select, [role=img], [role=grid], [role=tabpanel]');
    const attributes = (e) => e.getAttribute('aria-label') || e.getAttribute('aria-labelledby');
    const hasName = (e) => attributes(e) || e.textContent.trim() || (e.labels && e.labels.length);
    return Array.from(elements).filter((e) => !hasName(e)).map((e) => e.outerHTML.slice(0, 80));
});

// Every option of masking can be pressed, however small the window.
async function reachesOptions() {
    for (const [width, height] of [[390, 844], [740, 360], [1280, 800]]) {
        await browser.resize(width, height);
        await open('#panel=masking&lq=16&lk=16');
        for (const id of ['left', 'right', 'qlen', 'kvlen', 'alibi', 'softcap', 'sink']) {
            await browser.click(`#masking-${id}-on`);
            const isOn = await browser.evaluate((id) => document.querySelector(`#masking-${id}-on`).checked, id);
            checks.check(isOn, `${what}: ${id} at ${width} x ${height}`);
        }
    }
    await browser.resize(1280, 800);
}

// What the buttons of the page's head do, and the others that nothing else presses.
async function pressesButtons() {
    await open('#panel=steps&numbers=000&step=scaled');
    await browser.set('#steps-scale', 'own');
    await browser.type('#steps-divisor', '4');
    checks.equal((await tables('steps'))['Scaled scores'][1], ['1', '4', '3'], `${what}: divided by 4`);
    await browser.set('#theme', 'dark');
    checks.check((await hash()).includes('theme=dark'), `${what}: the theme is in the link`);
    await browser.click('#share');
    await rest(200);
    checks.check(/link to this view/.test(await text('#notice')), `${what}: copying the link`);
    await open('#panel=training');
    await browser.click('#training-step');
    await browser.click('#training-restart');
    await says('#training-status', 'Step 0 of', 'begun anew');
    const marks = await browser.evaluate(() => Array.from(document.querySelectorAll('#training-letters tr'), (row) =>
        Array.from(row.querySelectorAll('td'), (td) => td.className || td.textContent)));
    checks.check(marks[2].every((mark, i) => mark === '·' || mark === 'good' || mark === 'bad') &&
        marks[2].includes('good') && marks[2].includes('bad'), `${what}: guesses are marked`);
    await open('#panel=translation');
    await browser.evaluate(() => document.querySelector('#translation-map [data-r]').focus());
    await browser.press('ArrowDown');
    await says('#translation-sum', 'Writing “est”, this head takes 0.10 from “translate”', 'arrow keys in a picture');
}

// A picture of each panel; nothing is wider than the window; everything has a name.
async function looksRight() {
    mkdirSync(screens, { recursive: true });
    for (const dark of [false, true]) {
        await browser.prefer({ dark });
        for (const [size, width, height] of [['wide', 1200, 900], ['phone', 390, 844]]) {
            await browser.resize(width, height);
            for (const panel of Object.keys(VIEWS)) await looksRightOnce(panel, size, dark);
        }
    }
    await browser.prefer({ dark: false });
    await browser.resize(1280, 800);
}

const tests = {
    opensOnColour, showsNotebooks, goesThroughStages, laysOutProducts, showsSums, plays, takesNumbers, takesSentences,
    goesByKeys, masks, translates, knocksOut, takesModels, trains, looksBackAtTraining, framesWhereHeadsLook,
    cachesTokens, keepsTypes,
    saves, keepsLinks, goesBack, reachesOptions, pressesButtons, looksRight,
};

async function testBrowser(name) {
    browser = await launch(name);
    for (const [title, test] of Object.entries(tests)) {
        what = `${name}, ${title}`;
        await test().catch((error) => checks.check(false, `${what}: ${error.stack}`));
    }
    checks.equal(browser.problems, [], `${name}: the browser has nothing to complain of`);
    const requests = browser.requests.filter((url) => !url.startsWith('blob:'));
    checks.equal(requests, [], `${name}: nothing is asked of a network`);
    await browser.close();
}

for (const name of names.length ? names : ['chromium', 'firefox'])
    try {
        await testBrowser(name);
    } catch (error) {
        const isNeeded = names.length || name === 'chromium' || !error.message.includes('is not installed');
        if (isNeeded) checks.check(false, error.stack);
        else console.log(`skip ${error.message}`);
    }
checks.end();
