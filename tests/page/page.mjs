// The page in real browsers: node tests/page/page.mjs BUILD [BROWSER...]. Clicks, types, points and presses keys as a
// person does, compares what is shown with what the examples print, and takes a picture of every panel, in both themes,
// wide and on a phone, to BUILD/page/screens. Without names: chromium, and firefox if it is installed.
import { mkdirSync } from 'node:fs';
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
    await rest(30);
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
const says = async (selector, part, of) => {
    const shown = await text(selector);
    checks.check(shown.includes(part), `${what}, ${of}: "${shown}" does not hold "${part}"`);
};

// ---- panel 1 ----

const TITLES = {
    x: 'x', wq: 'Wq', wk: 'Wk', wv: 'Wv', q: 'Q', k: 'K', v: 'V',
    product: 'Scores', scaled: 'Scaled scores', weights: 'Weights', weighted: 'Weighted values', output: 'Output',
};

async function showsNotebooks() {
    for (const [id, numbers] of Object.entries(want)) {
        await open();
        await browser.set('#steps-preset', id);
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
    await open();
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

async function showsSums() {
    await open();
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
    await says('#steps-sum', 'input 2: its weight × its value = 0.8805369 × 8 = 7.0442952', 'a weighted value');
    await stage(8);
    await browser.hover(await cell('Output', 0, 0));
    await says('#steps-sum', '0.063378938 × 1 + 0.46831053 × 2 + 0.46831053 × 2 = 1.9366211', 'sum of an output');
    await stage(5);
    await browser.set('#steps-mask', 'causal');
    await browser.hover(await cell('Masked scores', 0, 1));
    await says('#steps-sum', 'input 2 comes after input 1', 'a hidden score');
    await stage(6);
    checks.equal((await tables('steps')).Weights[0], ['1', '0', '0'], `${what}: the first query sees itself alone`);
}

async function takesNumbers() {
    await open();
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
    const mistakes = [['abc', '“abc” is no number'], ['', 'is empty'], ['1e', '“1e” is no number'], ['3', '']];
    for (const [typed, said] of mistakes) {
        await browser.type(box, typed);
        await says('#notice', said, `"${typed}" typed`);
        await browser.press('Tab');
        const left = await browser.evaluate((s) => document.querySelector(s).value, box);
        checks.equal(left, typed === '1e' ? '1' : '3', `${what}: "${typed}" changes nothing`);
    }
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
    await open();
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
    await says('#masking-sum', 'key 4 comes after position 2, where query 2 stands (causal)', 'why a key is hidden');
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
        const heads = await count('#translation-heads canvas'), weights = await count('#translation-picture rect');
        checks.equal([heads, weights], [12, cells], `${what}: heads of ${part}`);
    }
    await browser.click('#translation-heads button:nth-child(7)');
    await says('#translation-picture', 'layer 2, head 3', 'a head that was pressed');
    await browser.hover('#translation-picture [data-r="1"][data-c="0"]');
    await says('#translation-sum', 'of its attention', 'a weight');
    checks.check(await count('#translation-tree rect') > 8, `${what}: beams`);
    await browser.set('#translation-beams', 1);
    checks.equal(await count('#translation-tree rect'), written - 1, `${what}: one beam`);
    await browser.type('#translation-source', 'The zebra eats <b>Apples</b>');
    await rest(900);
    const marked = await texts('#translation-unknown mark');
    checks.equal(marked, ['zebra', '<b>Apples</b>'], `${what}: unknown words are marked`);
    await browser.type('#translation-source', '');
    await rest(500);
    await says('#notice', 'The sentence is empty', 'no sentence');
    await browser.click('#translation-words summary');
    await browser.click('#translation-list button:nth-child(20)');
    checks.check((await text('#translation-target')).length > 0, `${what}: a word of the list is translated`);
    await browser.click('#translation-another');
    checks.check((await text('#translation-target')).split(' ').length > 2, `${what}: another sentence`);
}

// ---- panel 4 ----

async function trains() {
    await open('#panel=training');
    await says('#training-status', 'Step 0 of 1000', 'before training');
    await browser.click('#training-step');
    await says('#training-status', 'Step 1 of 1000. Loss of new letters 2.82', 'one step');
    const before = await text('#training-heads');
    await browser.set('#training-speed', 25);
    await browser.click('#training-run');
    await rest(1500);
    await browser.click('#training-run');
    const step = Number((await text('#training-status')).match(/Step (\d+)/)[1]);
    checks.check(step > 25 && await text('#training-heads') !== before, `${what}: training goes on, to step ${step}`);
    const points = await browser.evaluate(() => {
        const lines = Array.from(document.querySelectorAll('#training-chart path[fill=none]'));
        return lines.map((line) => line.getAttribute('d').split(/[ML]/).length - 1);
    });
    checks.equal(points, [step, step], `${what}: two lines of so many points`);
    await rest(300);
    await says('#training-status', `Step ${step} of`, 'a pause');
    await open('#panel=training&at=250&pace=25');
    for (let n = 0; n < 60 && !(await text('#training-status')).startsWith('Step 250'); n++) await rest(250);
    const status = 'Step 250 of 1000. Loss of new letters 3.07, of repeated ones 0.11';
    await says('#training-status', status, 'the loss that the example prints');
    const shares = '0.77 goes to the letter before, 0.01 to the one that followed';
    await says('#training-heads', shares, 'what the example prints of layer 1');
    await browser.hover('#training-heads figure:nth-child(1) [data-r="5"][data-c="4"]');
    await says('#training-sum', 'gives letter 5', 'a weight');
}

// ---- saving, links, appearance ----

async function saves() {
    const parts = { steps: '9.82007865e-01', masking: 'query 3', translation: '▁transformateurs',
        training: 'repeated letters' };
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
    },
    async training() {
        await browser.click('#training-step');
        await browser.click('#training-step');
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
    checks.equal(await text('#steps-title'), '1. Inputs and weights', `${what}: a link without sense`);
    await open(`#panel=steps&numbers=sentence&sentence=${encodeURIComponent(`a\u0001b ${'x'.repeat(195)}😀 y`)}`);
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
    const theme = await browser.evaluate(() => document.documentElement.dataset.theme);
    checks.equal(await nameless(), [], `${what}: everything in ${name} has a name`);
    checks.equal(excess, 0, `${what}: ${name} is as wide as the window`);
    checks.equal(theme, dark ? 'dark' : 'light', `${what}: theme of ${name}`);
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
    await open('#panel=steps&step=scaled');
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
    await browser.evaluate(() => document.querySelector('#translation-picture svg').focus());
    await browser.press('ArrowDown');
    await says('#translation-sum', 'Writing “est”, this head gives “translate”', 'arrow keys in a picture');
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
    showsNotebooks, goesThroughStages, showsSums, takesNumbers, takesSentences, goesByKeys, masks, translates, trains,
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
