// Numbers, matrices and words, as the page reads and writes them in cells, sentences and links. This module owns what a
// matrix is, { rows, cols, values }, and what may stand in HTML. It knows no other module, and no document.

function matrix(rows, cols, values) {
    return { rows, cols, values: Float64Array.from(values) };
}

const rowOf = (m, r) => m.values.subarray(r * m.cols, (r + 1) * m.cols);
const range = (count) => Array.from({ length: count }, (_, i) => i);
const named = (name, count) => range(count).map((i) => `${name} ${i + 1}`);

// Whether the nth number of a square matrix is of a column after its row: what comes later.
const isLater = (n, cols) => n % cols > Math.floor(n / cols);

const entry = (m, r, c) => m.values[r * m.cols + c];
const total = (numbers) => numbers.reduce((a, b) => a + b, 0);
const clamp = (x, low, high) => Math.min(Math.max(x, low), high);

// A number's text with the sign that mathematics has.
const withMinus = (text) => text.replaceAll('-', '−');

// numpy writes 2. for 2 and inf; mathematics does not.
function plainNumber(text) {
    return text.replace(/\.$/, '').replace(/\.e/, 'e')
        .replace(/^-?inf$/, (s) => s.startsWith('-') ? '−∞' : '∞')
        .replace('nan', 'NaN');
}

// A number in a sentence: so many significant digits at most.
function short(x, digits = 4) {
    if (Number.isNaN(x)) return 'NaN';
    if (!Number.isFinite(x)) return x < 0 ? '−∞' : '∞';
    return withMinus(String(Number(x.toPrecision(digits))));
}

const signed = (x, digits) => x < 0 ? `(${short(x, digits)})` : short(x, digits);

// A number in a cell: so many digits after the point, and an exponent where it is large.
function fixed(x, digits) {
    if (!Number.isFinite(x)) return short(x);
    return withMinus(Math.abs(x) < 1e7 ? x.toFixed(digits) : x.toExponential(digits));
}

// A number as one would type it: what is a float, with as many digits as tell it from other floats.
function plainOwn(x) {
    if (!Number.isFinite(x)) return short(x);
    const digits = Math.fround(x) === x && range(9).find((n) => Math.fround(x.toPrecision(n + 1)) === x);
    return withMinus(String(digits === false || digits === undefined ? x : Number(x.toPrecision(digits + 1))));
}

// What somebody has typed as a number; undefined if it is none.
function parseNumber(text) {
    const plain = text.trim().replaceAll('−', '-').replace(',', '.');
    if (/^[+-]?(inf|infinity|∞)$/i.test(plain)) return plain.startsWith('-') ? -Infinity : Infinity;
    if (/^nan$/i.test(plain)) return NaN;
    return plain !== '' && !Number.isNaN(Number(plain)) ? Number(plain) : undefined;
}

const writeNumber = (x) => Number.isNaN(x) ? 'nan' : Number.isFinite(x) ? String(x) : x < 0 ? '-inf' : 'inf';
const writeMatrix = (m) => range(m.rows).map((r) => Array.from(rowOf(m, r), writeNumber).join(',')).join(';');

// "1,2;3,4", or undefined.
function readMatrix(text, mostRows, mostCols) {
    const rows = text.split(';').map((row) => row.split(',').map(parseNumber));
    const cols = rows[0].length;
    const fits = rows.length <= mostRows && cols <= mostCols && rows.every((row) => row.length === cols &&
        row.every((x) => x !== undefined));
    return fits ? matrix(rows.length, cols, rows.flat()) : undefined;
}

// Words in a link, whatever they hold: "one|two", and what a link may be damaged to.
const writeLabels = (labels) => labels.map((label) => encodeURIComponent(wellFormed(label))).join('|');
function readLabels(text) {
    return text.split('|').map((label) => {
        try {
            return decodeURIComponent(label);
        } catch {
            return label;
        }
    });
}

// A word as a label: cut where it would be too long, between characters.
function cutWord(word) {
    const characters = Array.from(word);
    return characters.length > 14 ? `${characters.slice(0, 13).join('')}…` : word;
}

// A number for a word, the same for the same word: FNV-1a.
function hash(word) {
    let h = 0x811c9dc5;
    for (const byte of new TextEncoder().encode(word.toLowerCase())) h = Math.imul(h ^ byte, 0x01000193) >>> 0;
    return h;
}

// "a, b and c"
const listed = (words) => words.join(', ').replace(/, ([^,]*)$/, ' and $1');

const ENTITIES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
// Without what neither a link nor XML can hold: halves of characters, and control characters.
function wellFormed(text) {
    const isBad = (c) => /^[\u0000-\u0008\u000b\u000c\u000e-\u001f\ud800-\udfff\ufffe\uffff]$/.test(c);
    return Array.from(text, (c) => isBad(c) ? '\ufffd' : c).join('');
}

const escapeText = (text) => wellFormed(text).replace(/[&<>"]/g, (c) => ENTITIES[c]);
