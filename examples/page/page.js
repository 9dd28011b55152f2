// The page attention.html. Every number is attn.h's: `Engine` calls page.c, compiled to WebAssembly; the rest of this
// file asks, draws and explains. From top to bottom: the engine; numbers and words; pictures; the four panels; the page
// itself.
'use strict';

// ==== The engine =====================================================================================================

// What page.c needs of an operating system: files to read, by the calls of WASI. `files` has the bytes of each path.
function systemCalls(files, memory) {
    const OK = 0, BAD_DESCRIPTOR = 8, NO_ENTRY = 44, NOT_SUPPORTED = 58, ROOT = 3;
    const open = new Map();
    const view = () => new DataView(memory().buffer);
    const text = (at, size) => new TextDecoder().decode(new Uint8Array(memory().buffer, at, size));
    let next = ROOT + 1;

    // Calls use(place, size) for each of a list of buffers.
    const eachBuffer = (list, count, use) => {
        for (let i = 0; i < count; i++) {
            const at = list + 8 * i;
            use(view().getUint32(at, true), view().getUint32(at + 4, true));
        }
    };
    return {
        fd_prestat_get(fd, at) {
            if (fd !== ROOT) return BAD_DESCRIPTOR;
            view().setUint32(at, 0, true);
            view().setUint32(at + 4, 1, true);
            return OK;
        },
        fd_prestat_dir_name(fd, at) {
            view().setUint8(at, '/'.charCodeAt(0));
            return OK;
        },
        fd_fdstat_get(fd, at) {
            new Uint8Array(memory().buffer, at, 24).fill(255);
            view().setUint8(at, fd === ROOT ? 3 : 4); // a directory, a file
            view().setUint16(at + 2, 0, true);
            return OK;
        },
        fd_fdstat_set_flags: () => OK,
        path_open(fd, lookup, path, size, create, rights, inherited, flags, at) {
            const bytes = files.get(text(path, size));
            if (!bytes) return NO_ENTRY;
            open.set(next, { bytes, at: 0 });
            view().setUint32(at, next++, true);
            return OK;
        },
        fd_read(fd, list, count, at) {
            const file = open.get(fd);
            let sum = 0;
            if (!file) return BAD_DESCRIPTOR;
            eachBuffer(list, count, (place, room) => {
                const part = file.bytes.subarray(file.at, file.at + room);
                new Uint8Array(memory().buffer).set(part, place);
                file.at += part.length;
                sum += part.length;
            });
            view().setUint32(at, sum, true);
            return OK;
        },
        fd_seek(fd, offset, whence, at) {
            const file = open.get(fd);
            if (!file) return NOT_SUPPORTED;
            file.at = Math.max(0, Number(offset) + [0, file.at, file.bytes.length][whence]);
            view().setBigUint64(at, BigInt(file.at), true);
            return OK;
        },
        fd_write(fd, list, count, at) { // nobody reads what page.c prints
            let sum = 0;
            eachBuffer(list, count, (place, size) => { sum += size; });
            view().setUint32(at, sum, true);
            return OK;
        },
        fd_close: (fd) => open.delete(fd) ? OK : BAD_DESCRIPTOR,
        proc_exit(status) { throw new Error(`the program ended with status ${status}`); },
    };
}

class Engine {
    // wasm: bytes of the compiled page.c. files: the model's three, by path.
    constructor(wasm, files) {
        const calls = systemCalls(files, () => this.exports.memory);
        const module = new WebAssembly.Module(wasm);
        this.exports = new WebAssembly.Instance(module, { wasi_snapshot_preview1: calls }).exports;
        this.exports._initialize();
        this.modelIsOpen = false;
    }

    text(at) {
        const bytes = new Uint8Array(this.exports.memory.buffer, at);
        return new TextDecoder().decode(bytes.slice(0, bytes.indexOf(0)));
    }

    get version() { return this.text(this.exports.page_version()); }
    get instructionSet() { return this.text(this.exports.page_isa()); }

    // Runs use(put, get): put copies an array into the engine's memory and returns its place, get copies numbers out.
    // What was put is given back at the end.
    lend(use) {
        const held = [];
        const put = (array) => {
            const at = this.exports.page_memory(array.byteLength);
            if (!at) throw new Error('There is no memory left.');
            held.push(at);
            new array.constructor(this.exports.memory.buffer, at, array.length).set(array);
            return at;
        };
        const get = (at, count, type = Float64Array) => new type(this.exports.memory.buffer, at, count).slice();
        try {
            return use(put, get);
        } finally {
            held.forEach((at) => this.exports.page_free(at));
        }
    }

    // A call of page.c that returns 0, or else has left a message.
    check(failed) {
        if (failed) throw new Error(this.text(this.exports.page_message()));
    }

    matmul(type, a, b) {
        return this.lend((put, get) => {
            const out = put(new Float64Array(a.rows * b.cols));
            const left = put(a.values), right = put(b.values);
            this.check(this.exports.page_matmul(TYPES[type], out, left, right, a.rows, a.cols, b.cols));
            return matrix(a.rows, b.cols, get(out, a.rows * b.cols));
        });
    }

    // Attention step by step. hidden: Lq x Lk, 1 where a key is hidden; row: the query of the weighted values.
    steps(type, q, k, v, scale, hidden, row) {
        const sizes = [[q.rows, k.rows], [q.rows, k.rows], [q.rows, k.rows], [q.rows, k.rows], [k.rows, v.cols],
            [q.rows, v.cols]];
        return this.lend((put, get) => {
            const out = sizes.map(([rows, cols]) => put(new Float64Array(rows * cols)));
            this.check(this.exports.page_steps(TYPES[type], q.rows, k.rows, q.cols, v.cols,
                put(q.values), put(k.values), put(v.values), scale, put(hidden), row, ...out));
            const [product, scaled, masked, weights, weighted, output] = sizes.map(([rows, cols], n) =>
                matrix(rows, cols, get(out[n], rows * cols)));
            return { product, scaled, masked, weights, weighted, output };
        });
    }

    // The numbers of a row as numpy prints them.
    words(type, numbers, digits) {
        return this.lend((put) => {
            const at = this.exports.page_text(TYPES[type], put(Float64Array.from(numbers)), numbers.length, digits);
            return this.text(at).split('\n').slice(0, numbers.length).map(plainNumber);
        });
    }

    random(count, seed, low, high) {
        return this.lend((put, get) => {
            const at = put(new Float64Array(count));
            this.exports.page_random(at, count, seed, low, high);
            return get(at, count);
        });
    }

    // attn_sdpa of one head. options: numbers in the order of MASKING, NaN where one is off.
    attend(options, q, k, v) {
        const Lq = q.rows, Lk = k.rows, TEXT = 2048;
        return this.lend((put, get) => {
            const stages = [0, 1, 2].map(() => put(new Float64Array(Lq * Lk)));
            const weights = put(new Float64Array(Lq * Lk)), lse = put(new Float64Array(Lq));
            const output = put(new Float64Array(Lq * v.cols)), explain = put(new Uint8Array(TEXT));
            this.check(this.exports.page_attend(put(Float64Array.from(options)), Lq, Lk, q.cols, v.cols, put(q.values),
                put(k.values), put(v.values), put(Uint32Array.from(stages)), weights, lse, output, explain, TEXT));
            const [scaled, capped, final] = stages.map((at) => matrix(Lq, Lk, get(at, Lq * Lk)));
            return { scaled, capped, final, weights: matrix(Lq, Lk, get(weights, Lq * Lk)), lse: get(lse, Lq),
                output: matrix(Lq, v.cols, get(output, Lq * v.cols)), explain: this.text(explain) };
        });
    }

    // The translation of a text, its tokens, the search, and attention.encoder, .decoder, .cross: [block][head],
    // matrices.
    translate(text, beams) {
        if (!this.modelIsOpen) this.check(this.exports.page_open());
        this.modelIsOpen = true;
        const bytes = new TextEncoder().encode(text);
        return this.lend((put, get) => {
            this.check(this.exports.page_translate(put(bytes), bytes.length, beams, 100));
            const reply = JSON.parse(this.text(this.exports.page_reply()));
            const source = reply.source.length, target = reply.target.length;
            const read = (part, rows, cols) => Array.from({ length: reply.blocks }, (_, block) => {
                const at = this.exports.page_attention(part, block);
                if (!at) throw new Error('There is no memory left.');
                const all = get(at, reply.heads * rows * cols, Float32Array);
                return Array.from({ length: reply.heads }, (_, head) =>
                    matrix(rows, cols, Float64Array.from(all.subarray(head * rows * cols, (head + 1) * rows * cols))));
            });
            reply.attention = { encoder: read(0, source, source), decoder: read(1, target, target),
                cross: read(2, target, source) };
            return reply;
        });
    }

    // ---- training ----

    trainBegin() { this.exports.page_train_begin(); }
    trainStep(look) { return this.exports.page_train_step(look ? 1 : 0); }

    // What training has come to: of the text that is not learnt from.
    trained() {
        const length = this.exports.page_train_length(), { buffer } = this.exports.memory;
        const integers = (at) => Array.from(new Int32Array(buffer, at, length));
        const heads = [[0, 0], [0, 1], [1, 0], [1, 1]].map(([block, head]) => ({ block, head,
            weights: matrix(length, length, new Float64Array(buffer, this.exports.page_train_looks(block, head),
                length * length).slice()),
            before: this.exports.page_train_share(block, head, 0),
            followed: this.exports.page_train_share(block, head, 1) }));
        return { letters: integers(this.exports.page_train_letters()), next: integers(this.exports.page_train_next()),
            guesses: integers(this.exports.page_train_guesses()), heads };
    }
}

// ==== Numbers and words ==============================================================================================

const TYPES = { f32: 0, f64: 1 }; // attn_dtype

function matrix(rows, cols, values) {
    return { rows, cols, values: Float64Array.from(values) };
}

const rowOf = (m, r) => m.values.subarray(r * m.cols, (r + 1) * m.cols);
const range = (count) => Array.from({ length: count }, (_, i) => i);
const named = (name, count) => range(count).map((i) => `${name} ${i + 1}`);

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
    return String(Number(x.toPrecision(digits))).replace('-', '−');
}

const signed = (x, digits) => x < 0 ? `(${short(x, digits)})` : short(x, digits);

// What somebody has typed as a number; undefined if it is none.
function parseNumber(text) {
    const plain = text.trim().replace('−', '-').replace(',', '.');
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

// "1, 2 and 5 to 7"
function listed(numbers) {
    const parts = [];
    for (let i = 0, j; i < numbers.length; i = j) {
        for (j = i + 1; j < numbers.length && numbers[j] === numbers[j - 1] + 1; j++);
        parts.push(j - i > 2 ? `${numbers[i]} to ${numbers[j - 1]}` : numbers.slice(i, j).join(', '));
    }
    return parts.join(', ').replace(/, ([^,]*)$/, ' and $1');
}

const ENTITIES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
// Without what neither a link nor XML can hold: halves of characters, and control characters.
function wellFormed(text) {
    const isBad = (c) => /^[\u0000-\u0008\u000b\u000c\u000e-\u001f\ud800-\udfff\ufffe\uffff]$/.test(c);
    return Array.from(text, (c) => isBad(c) ? '\ufffd' : c).join('');
}

const escapeText = (text) => wellFormed(text).replace(/[&<>"]/g, (c) => ENTITIES[c]);

// ==== Pictures =======================================================================================================

const PALETTES = {
    light: [[243, 247, 252], [189, 215, 238], [107, 174, 214], [33, 113, 181], [8, 48, 107]],
    dark: [[28, 34, 43], [25, 58, 99], [33, 98, 166], [84, 160, 230], [201, 229, 255]],
};

const themeNow = () => document.documentElement.dataset.theme;

// The colour of a level from 0 to 1, and that of text on it.
function shade(level, theme) {
    const stops = PALETTES[theme], at = Math.min(Math.max(level, 0), 1) * 4, n = Math.min(Math.floor(at), 3);
    const rgb = [0, 1, 2].map((i) => Math.round(stops[n][i] + (at - n) * (stops[n + 1][i] - stops[n][i])));
    const linear = rgb.map((c) => c / 255).map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    const luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
    return { rgb, fill: `rgb(${rgb.join(' ')})`, ink: luminance > 0.179 ? '#000' : '#fff' };
}

// Where a number stands between two others; NaN and what is infinite is nowhere.
const level = (x, low, high) => Number.isFinite(x) ? (high > low ? (x - low) / (high - low) : 0.5) : NaN;

function extent(values) {
    const finite = Array.from(values).filter(Number.isFinite);
    return finite.length ? [Math.min(...finite), Math.max(...finite)] : [0, 1];
}

// A matrix on the page, as a table: cells can be reached by pointer and arrow keys, and typed into where it is
// editable.
//   content: { name, note, rows, cols, texts, values, rowLabels, colLabels, low, high, hidden, editable, chosenRow }
// on.look(r, c) is told what is looked at; on.edit(r, c, text, done) what is typed; on.choose(r) which row is clicked.
class Grid {
    constructor(on = {}) {
        this.on = on;
        this.element = document.createElement('figure');
        this.element.className = 'matrix';
        this.element.addEventListener('pointerover', (event) => this.look(event.target));
        this.element.addEventListener('focusin', (event) => this.look(event.target));
        this.element.addEventListener('keydown', (event) => this.key(event));
        this.element.addEventListener('click', (event) => this.choose(event.target));
        this.element.addEventListener('input', (event) => this.type(event.target, false));
        this.element.addEventListener('change', (event) => this.type(event.target, true));
    }

    update(content) {
        const { rows, cols, editable, rowLabels, colLabels, name, note } = content;
        const shape = JSON.stringify([rows, cols, Boolean(editable), rowLabels, colLabels, name, note]);
        this.content = content;
        if (shape !== this.shape) this.build();
        this.shape = shape;
        this.element.style.setProperty('--box', `${Math.max(3, ...content.texts.map((t) => t.length)) + 2}ch`);
        for (let r = 0; r < content.rows; r++)
            for (let c = 0; c < content.cols; c++) this.paint(r, c);
    }

    build() {
        const { name, note, rows, cols, rowLabels, colLabels } = this.content;
        const heads = colLabels.map((label) => `<th scope="col">${escapeText(label)}</th>`).join('');
        const row = (r) => `<tr><th scope="row">${escapeText(rowLabels[r])}</th>` +
            `${range(cols).map((c) => this.cellHtml(r, c)).join('')}</tr>`;
        const size = `${rows} × ${cols}${note ? `, ${escapeText(note)}` : ''}`;
        this.element.innerHTML = `<figcaption>${escapeText(name)} <small>${size}</small></figcaption>
            <div class="scroll"><table role="grid" aria-label="${escapeText(name)}, ${rows} rows, ${cols} columns">
            <thead><tr><td></td>${heads}</tr></thead>
            <tbody>${range(rows).map(row).join('')}</tbody>
            </table></div>`;
        this.cells = Array.from(this.element.querySelectorAll('[data-r]'));
    }

    // The HTML of a cell: a box to type into, or a text that paint() fills in.
    cellHtml(r, c) {
        const { name, rowLabels, colLabels, editable } = this.content;
        const at = `data-r="${r}" data-c="${c}" tabindex="${r + c === 0 ? 0 : -1}"`;
        if (!editable) return `<td role="gridcell" ${at}></td>`;
        const label = escapeText(`${name}, ${rowLabels[r]}, ${colLabels[c]}`);
        const box = `<input ${at} type="text" inputmode="decimal" autocomplete="off" aria-label="${label}">`;
        return `<td class="boxed" role="gridcell">${box}</td>`;
    }

    cell(r, c) { return this.cells[r * this.content.cols + c]; }

    paint(r, c) {
        const { cols, texts, values, low, high, hidden, editable, chosenRow } = this.content;
        const cell = this.cell(r, c), n = r * cols + c, at = level(values[n], low, high);
        if (editable) {
            if (document.activeElement !== cell || cell.getAttribute('aria-invalid') !== 'true') {
                if (document.activeElement !== cell || parseNumber(cell.value) !== values[n]) cell.value = texts[n];
                cell.removeAttribute('aria-invalid');
            }
            return;
        }
        const isHidden = Boolean(hidden && hidden[n]);
        const colour = low === undefined || Number.isNaN(at) || isHidden ? null : shade(at, themeNow());
        cell.textContent = texts[n];
        cell.style.background = colour ? colour.fill : '';
        cell.style.color = colour ? colour.ink : '';
        cell.classList.toggle('hidden-key', isHidden);
        cell.classList.toggle('chosen', r === chosenRow);
        if (isHidden) cell.setAttribute('aria-label', `hidden ${texts[n]}`);
        else cell.removeAttribute('aria-label');
    }

    // Marks the cells (r, c) for which is(r, c), and none as the one that is looked at.
    mark(is) {
        for (const cell of this.cells) {
            const { classList } = cell.closest('td');
            classList.toggle('source', is(Number(cell.dataset.r), Number(cell.dataset.c)));
            classList.remove('looked');
        }
    }

    // Marks the cell that is looked at.
    point(r, c) { this.cell(r, c).closest('td').classList.add('looked'); }

    look(target) {
        const cell = target.closest('[data-r]');
        if (cell && this.on.look) this.on.look(Number(cell.dataset.r), Number(cell.dataset.c));
    }

    choose(target) {
        const cell = target.closest('[data-r]');
        if (cell && this.on.choose) this.on.choose(Number(cell.dataset.r));
    }

    type(target, done) {
        if (target.dataset.r === undefined) return;
        const r = Number(target.dataset.r), c = Number(target.dataset.c);
        const valid = parseNumber(target.value) !== undefined;
        if (!valid && done) {
            target.removeAttribute('aria-invalid');
            target.value = this.content.texts[r * this.content.cols + c];
            return;
        }
        if (valid) target.removeAttribute('aria-invalid');
        else target.setAttribute('aria-invalid', 'true');
        this.on.edit(r, c, target.value, done);
    }

    // Arrow keys, Home and End go from cell to cell. In a box, left and right do so at the ends of its text.
    key(event) {
        const cell = event.target.closest('[data-r]');
        if (!cell || event.ctrlKey || event.altKey || event.metaKey) return;
        const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], Enter: [1, 0] };
        const { rows, cols } = this.content, inBox = cell.tagName === 'INPUT';
        let r = Number(cell.dataset.r), c = Number(cell.dataset.c);
        if (event.key === 'Enter' && !inBox && this.on.choose) {
            this.on.choose(r);
        } else if (moves[event.key]) {
            const length = (cell.value || '').length;
            const within = event.key === 'ArrowLeft' ? cell.selectionStart > 0 : cell.selectionEnd < length;
            if (inBox && moves[event.key][1] && within) return;
            r += moves[event.key][0];
            c += moves[event.key][1];
        } else if (!inBox && (event.key === 'Home' || event.key === 'End')) {
            c = event.key === 'Home' ? 0 : cols - 1;
        } else {
            return;
        }
        event.preventDefault();
        if (r < 0 || c < 0 || r >= rows || c >= cols) return;
        this.cells.forEach((other) => { other.tabIndex = -1; });
        this.cell(r, c).tabIndex = 0;
        this.cell(r, c).focus();
    }
}

// ---- SVG: what large matrices are on the page, and what every picture is when it is saved ----

const SVG = {
    font: 13,
    family: "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif",
    light: { ground: '#fff', ink: '#1a2029', quiet: '#56606e', line: '#ccd3dc' },
    dark: { ground: '#12161c', ink: '#e6eaf0', quiet: '#a3adba', line: '#3a4452' },
    lines: ['#c2571a', '#2171b5'],
    darkLines: ['#ff9d5c', '#7db8f5'],
};

function svgText(x, y, text, more = '') {
    return `<text x="${x}" y="${y}" ${more}>${escapeText(text)}</text>`;
}

// A text that runs upwards.
function svgTurned(x, y, text, more) {
    return `<g transform="translate(${x} ${y}) rotate(-90)">${svgText(0, 0, text, more)}</g>`;
}

// The attributes that every picture has.
const svgSize = (width, height) =>
    `width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-size="${SVG.font}" role="img"`;

// A picture for the page, which a screen reader calls `label`.
const svgElement = ({ svg, width, height }, label, more = '') =>
    `<svg ${svgSize(width, height)} ${more} aria-label="${escapeText(label)}">${svg}</svg>`;

const textWidth = (text, font = SVG.font) => Math.ceil(Array.from(text).length * font * 0.62);

// Where the parts of a heatmap are. Cells are as large as their texts need, or `side` without.
function heatmapLayout(map) {
    const cellHeight = map.side || 30;
    const cellWidth = map.side ||
        Math.max(36, ...map.texts.map((t) => textWidth(t) + 12), ...map.colLabels.map((t) => textWidth(t) + 8));
    const left = Math.max(...map.rowLabels.map((t) => textWidth(t))) + 12 + (map.rowName ? 20 : 0);
    const turned = !map.texts && map.colLabels.some((t) => t.length > 1);
    const headHeight = turned ? Math.max(...map.colLabels.map((t) => textWidth(t))) + 8 : 22;
    const top = (map.title ? 26 : 0) + (map.colName ? 20 : 0) + headHeight;
    const titleWidth = map.title ? textWidth(map.title, 15) + 8 : 0;
    const width = Math.max(left + map.cols * cellWidth + 8, titleWidth), height = top + map.rows * cellHeight + 8;
    return { cellWidth, cellHeight, left, top, turned, width, height };
}

// The title of a heatmap, and what its rows and columns are.
function heatmapLabels(map, { cellWidth, cellHeight, left, top, turned }, theme) {
    const ink = SVG[theme], parts = [];
    const middle = `text-anchor="middle" fill="${ink.quiet}"`;
    if (map.title) parts.push(svgText(0, 16, map.title, `font-size="15" font-weight="600" fill="${ink.ink}"`));
    if (map.colName) parts.push(svgText(left, (map.title ? 26 : 0) + 14, `${map.colName} →`, `fill="${ink.quiet}"`));
    if (map.rowName) parts.push(svgTurned(12, top + map.rows * cellHeight / 2, `← ${map.rowName}`, middle));
    map.colLabels.forEach((label, c) => {
        const x = left + (c + 0.5) * cellWidth;
        parts.push(turned ? svgTurned(x + 4, top - 6, label, `fill="${ink.ink}"`) : svgText(x, top - 7, label, middle));
    });
    map.rowLabels.forEach((label, r) => {
        const y = top + (r + 0.5) * cellHeight + 4.5, colour = map.texts ? ink.quiet : ink.ink;
        parts.push(svgText(left - 8, y, label, `text-anchor="end" fill="${colour}"`));
    });
    return parts.join('');
}

// The nth cell of a heatmap.
function heatmapCell(map, { cellWidth, cellHeight, left, top }, n, theme) {
    const ink = SVG[theme], r = Math.floor(n / map.cols), c = n % map.cols;
    const x = left + c * cellWidth, y = top + r * cellHeight;
    const hidden = map.hidden && map.hidden[n], at = level(map.values[n], map.low, map.high);
    const colour = map.low === undefined || hidden || Number.isNaN(at) ? null : shade(at, theme);
    if (hidden && !map.texts) return '';
    const size = `width="${cellWidth - 1}" height="${cellHeight - 1}"`;
    const paint = colour ? `fill="${colour.fill}" stroke="none"` : `fill="none" stroke="${ink.line}"`;
    const place = map.side ? ` data-r="${r}" data-c="${c}"` : '';
    const parts = [`<rect x="${x}" y="${y}" ${size} ${paint}${place}/>`];
    if (hidden) parts.push(`<path stroke="${ink.line}" d="M${x} ${y + cellHeight}L${x + cellWidth} ${y}"/>`);
    if (map.texts) {
        const more = `text-anchor="middle" fill="${colour ? colour.ink : ink.ink}"`;
        parts.push(svgText(x + cellWidth / 2, y + cellHeight / 2 + 4.5, map.texts[n], more));
    }
    return parts.join('');
}

// A heatmap: { title, rows, cols, values, texts, rowLabels, colLabels, rowName, colName, low, high, hidden, side }.
// Returns { svg, width, height }.
function svgHeatmap(map, theme) {
    const layout = heatmapLayout(map);
    const cells = range(map.rows * map.cols).map((n) => heatmapCell(map, layout, n, theme));
    return {
        svg: heatmapLabels(map, layout, theme) + cells.join(''),
        width: Math.ceil(layout.width),
        height: Math.ceil(layout.height),
    };
}

// Lines over a common axis from 0: { title, names, lines: arrays of numbers, xHigh, yHigh, xName, width }.
function svgLines(chart, theme) {
    const ink = SVG[theme], left = 44, top = 30, { width } = chart, height = 200, right = 130;
    const colours = theme === 'dark' ? SVG.darkLines : SVG.lines, parts = [];
    const x = (i) => (left + width * i / chart.xHigh).toFixed(1);
    const y = (v) => (top + height * (1 - Math.min(v, chart.yHigh) / chart.yHigh)).toFixed(1);
    parts.push(svgText(left, 16, chart.title, `font-size="15" font-weight="600" fill="${ink.ink}"`));
    for (let v = 0; v <= chart.yHigh; v++) {
        parts.push(`<path stroke="${ink.line}" d="M${left} ${y(v)}H${left + width}"/>`);
        parts.push(svgText(left - 8, Number(y(v)) + 4.5, String(v), `text-anchor="end" fill="${ink.quiet}"`));
    }
    for (let i = 0; i <= chart.xHigh; i += chart.xHigh / 5)
        parts.push(svgText(x(i), top + height + 18, String(i), `text-anchor="middle" fill="${ink.quiet}"`));
    parts.push(svgText(left + width / 2, top + height + 38, chart.xName, `text-anchor="middle" fill="${ink.quiet}"`));
    const ends = chart.lines.map((line, n) =>
        line.length ? Number(y(line[line.length - 1])) + 4.5 : top + 20 * (n + 1));
    if (Math.abs(ends[0] - ends[1]) < 16) ends[ends[0] > ends[1] ? 0 : 1] = Math.min(...ends) + 16; // side by side
    chart.lines.forEach((line, n) => {
        const path = line.map((v, i) => `${i ? 'L' : 'M'}${x(i + 1)} ${y(v)}`).join('');
        if (line.length > 1) parts.push(`<path fill="none" stroke-width="2" stroke="${colours[n]}" d="${path}"/>`);
        parts.push(svgText(left + width + 8, ends[n], chart.names[n], `fill="${colours[n]}"`));
    });
    return { svg: parts.join(''), width: left + width + right, height: top + height + 46 };
}

// The title of a matrix in a picture.
const titled = ({ name, note }) => note ? `${name} (${note})` : name;

// A picture of several parts, in rows no wider than `most`.
function svgDocument(title, parts, theme, most = 1100) {
    let x = 16, y = 48, tallest = 0, width = textWidth(title, 18) + 32;
    const placed = parts.map((part) => {
        if (x > 16 && x + part.width > most) x = 16, y += tallest + 20, tallest = 0;
        const at = `<g transform="translate(${x} ${y})">${part.svg}</g>`;
        x += part.width + 24;
        width = Math.max(width, x);
        tallest = Math.max(tallest, part.height);
        return at;
    });
    const height = y + tallest + 16, ink = SVG[theme];
    const head = svgText(16, 30, title, `font-size="18" font-weight="600" fill="${ink.ink}"`);
    return `<svg xmlns="http://www.w3.org/2000/svg" ${svgSize(width, height)} font-family="${SVG.family}">` +
        `<title>${escapeText(title)}</title><rect width="100%" height="100%" fill="${ink.ground}"/>` +
        `${head}${placed.join('')}</svg>\n`;
}

// A heatmap on the page whose cells tell what they are: by pointer, or by arrow keys once it has the focus.
function showPicture(holder, map, label, tell) {
    const picked = holder.chosen, isThere = picked && picked.r < map.rows && picked.c < map.cols;
    const chosen = isThere ? picked : { r: 0, c: 0 };
    const hadFocus = holder.contains(document.activeElement);
    holder.innerHTML = svgElement(svgHeatmap(map, themeNow()), label, 'class="picture" tabindex="0"');
    const picture = holder.firstElementChild;
    const say = (r, c) => { holder.chosen = { r, c }; tell(r, c); };
    picture.addEventListener('pointerover', (event) => {
        if (event.target.dataset.r !== undefined) say(Number(event.target.dataset.r), Number(event.target.dataset.c));
    });
    picture.addEventListener('keydown', (event) => {
        const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
        if (!move) return;
        event.preventDefault();
        const at = holder.chosen || chosen;
        say(Math.min(Math.max(at.r + move[0], 0), map.rows - 1), Math.min(Math.max(at.c + move[1], 0), map.cols - 1));
    });
    picture.addEventListener('focus', () => say(chosen.r, chosen.c));
    if (hadFocus) picture.focus();
}

// ==== The page's own parts, which the panels use =====================================================================

let engine;
const panels = [];
const $ = (id) => document.getElementById(id);

// Sentences about a link, while it is read.
let aboutLink = null;

// A sentence about what just happened, with a button to undo it; '' takes it away. While a link is read they add up.
function notice(text, undo) {
    if (aboutLink) {
        if (text) aboutLink.push(text);
        return;
    }
    $('notice').textContent = text;
    if (!text || !undo) return;
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = 'Undo';
    button.addEventListener('click', () => { notice(''); undo(); });
    $('notice').append(button);
}

// What is looked at, in the line that stays in sight; or else what could be.
function tell(id, text, told = true) {
    $(id).textContent = text;
    $(id).classList.toggle('told', told);
}

// Runs what may fail: a sentence then says why.
function attempt(action) {
    try {
        return action();
    } catch (error) {
        notice(error.message.endsWith('.') ? error.message : `${error.message}.`);
        return undefined;
    }
}

function fillSelect(select, options) {
    select.innerHTML = options.map(([value, text]) => `<option value="${value}">${escapeText(text)}</option>`).join('');
}

// What a link says of a choice; `otherwise` where it says nothing, or, with a sentence, nothing that there is.
function choice(link, name, choices, otherwise) {
    const said = link.get(name);
    if (said === null || choices.includes(said)) return said ?? otherwise;
    notice(`The link’s “${name}”, “${said.slice(0, 20)}”, is none of ${choices.join(', ')}.`);
    return otherwise;
}

// Whether scores can be divided by it, as floats, too.
const isDivisor = (x) =>
    x !== 0 && Number.isFinite(x) && Number.isFinite(Math.fround(1 / x)) && Math.fround(1 / x) !== 0;

// A whole number of a link or a field, within bounds; undefined, and a sentence, if it is none.
function wholeNumber(name, text, least, most) {
    const x = parseNumber(text);
    if (Number.isInteger(x) && x >= least && x <= most) return x;
    notice(`${name}: “${text.slice(0, 20)}” is no whole number from ${least} to ${most}; it stays as it was.`);
    return undefined;
}

// ==== Panel 1: step by step ==========================================================================================

const MOST_ROWS = 12, MOST_COLS = 8;
const of = (...rows) => matrix(rows.length, rows[0].length, rows.flat());

// The numbers of the five notebooks.
const INPUTS = {
    x: of([1, 0, 1, 0], [0, 2, 0, 2], [1, 1, 1, 1]), wq: of([1, 0, 1], [1, 0, 0], [0, 0, 1], [0, 1, 1]),
    wk: of([0, 0, 1], [1, 1, 0], [0, 1, 0], [1, 1, 0]), wv: of([0, 2, 0], [0, 3, 0], [1, 0, 3], [1, 1, 0]),
    type: 'f64', digits: 8, scale: '1', labels: named('input', 3),
};
const WORDS = of([0.43, 0.15, 0.89], [0.55, 0.87, 0.66], [0.57, 0.85, 0.64], [0.22, 0.58, 0.33], [0.77, 0.25, 0.1],
    [0.05, 0.8, 0.55]);
const ANNOTATIONS = of([3, 12, 45], [59, 2, 5], [1, 43, 5], [4, 3, 45.3]);
const PRESETS = {
    '000': { name: 'notebook 000: three inputs, scores not scaled', ...INPUTS },
    '001': { name: 'notebook 001: the same, with other words', ...INPUTS },
    '002': { name: 'notebook 002: four words, in whole numbers',
        type: 'f32', digits: 8, scale: '', labels: named('word', 4),
        x: of([0, 1, 1, 2], [1, 0, 0, 2], [1, 1, 0, 2], [2, 1, 1, 1]),
        wq: of([1, 1, 0, 0], [0, 0, 2, 2], [1, 2, 2, 2], [0, 0, 2, 2]),
        wk: of([1, 1, 0, 2], [1, 1, 2, 0], [2, 1, 0, 2], [0, 0, 0, 1]),
        wv: of([1, 2, 1, 1], [1, 2, 0, 1], [0, 0, 2, 0], [2, 1, 1, 2]) },
    '003': { name: 'notebook 003: a decoder scores four annotations',
        type: 'f64', digits: 8, scale: '1', labels: ['decoder'],
        keyLabels: named('step', 4), q: of([5, 1, 20]), k: ANNOTATIONS, v: ANNOTATIONS },
    '004': { name: 'notebook 004: six words look at each other', type: 'f32', digits: 4, scale: '1',
        labels: ['Your', 'journey', 'starts', 'with', 'one', 'step'], q: WORDS, k: WORDS, v: WORDS },
};
const SENTENCE = 'sentence', OWN = 'own';

// A number in a cell: so many digits after the point, and an exponent where it is large.
function fixed(x, digits) {
    if (!Number.isFinite(x)) return short(x);
    return (Math.abs(x) < 1e7 ? x.toFixed(digits) : x.toExponential(digits)).replace('-', '−');
}

// Numbers for a sentence: each word has four of its own, always the same; the weights are from a seed.
function numbersOfSentence(words) {
    const tenths = (m) => m.map((x) => Math.round(10 * x) / 10);
    const weights = (seed) => matrix(4, 4, tenths(engine.random(16, seed, -1.5, 1.5)));
    return { type: 'f32', digits: 4, scale: '', labels: words, wq: weights(11), wk: weights(22), wv: weights(33),
        x: matrix(words.length, 4, words.flatMap((word) => Array.from(tenths(engine.random(4, hash(word), -2, 2))))) };
}

const STAGES = [
    { id: 'inputs', name: 'Inputs', title: 'Inputs and weights',
        text: 'Each row of x is a word, or another thing to be looked at, as numbers. Three matrices turn it into a ' +
            'query (what it looks for), a key (what it can be found by) and a value (what it gives). In a model they ' +
            'are learned.' },
    { id: 'qkv', name: 'Q, K, V', title: 'Queries, keys, values',
        text: 'Q = x Wq, K = x Wk, V = x Wv: a row for each word. Everything that follows needs these three alone.' },
    { id: 'product', name: 'Scores', title: 'Scores: Q Kᵀ',
        text: 'Each query is multiplied with each key, number by number, and the products are added up. The more ' +
            'alike they are, the higher the score.' },
    { id: 'scaled', name: 'Scale', title: 'Scale: divide every score',
        text: 'Long keys make large scores. Divided by the square root of the key’s size they stay moderate, and ' +
            'softmax does not choose too early.' },
    { id: 'masked', name: 'Mask', title: 'Mask: hide what may not be seen',
        text: 'A hidden score becomes −∞, whose exponential is 0. Causal: a query sees its own position and what ' +
            'came before, not what comes later. A model that writes word by word does not have the later words ' +
            'yet, and in training it could simply copy them.' },
    { id: 'weights', name: 'Softmax', title: 'Softmax: scores become weights',
        text: 'The exponential of each score, divided by the sum of its row: every weight is between 0 and 1, and a ' +
            'row adds up to 1. The largest score of the row is taken off first, so that nothing overflows.' },
    { id: 'weighted', name: 'Weighted values', title: 'Weighted values',
        text: 'One query at a time: each value times the weight that this query gives it. Click a row of the weights ' +
            'to choose the query.' },
    { id: 'output', name: 'Output', title: 'Output: the weighted values added up',
        text: 'Each query gets the sum of all values, each as much as its weight says. Where one weight is nearly 1, ' +
            'the output is nearly that value.' },
];

const POINT_AT_A_NUMBER = 'Point at a number, or go to it with the arrow keys: here is the sum that it came from.';
const NUMBERS_ARE_OWN = 'Q, K and V are now numbers of your own, and no longer computed from x.';

const SCALE_OPTIONS = `
    <label>Divide by <select id="steps-scale">
        <option value="">the square root of the key’s size</option>
        <option value="1">1: not at all</option>
        <option value="own">a number of your own</option>
    </select></label>
    <label id="steps-divisor-label">Number <input type="text" inputmode="decimal" id="steps-divisor"></label>`;
const MASK_OPTIONS = `
    <label>Mask <select id="steps-mask">
        <option value="">none: every query sees every key</option>
        <option value="causal">causal: nobody sees what comes later</option>
    </select></label>`;

// The children of an element become these; what stays is not moved, so that it keeps the focus.
function placeChildren(holder, elements) {
    for (const child of Array.from(holder.children))
        if (!elements.includes(child)) child.remove();
    elements.forEach((element, i) => {
        if (holder.children[i] !== element) holder.insertBefore(element, holder.children[i] || null);
    });
}

const entry = (m, r, c) => m.values[r * m.cols + c];

// "1 × 2 + 3 × 4 = 14": a(n) times b(n), for each n.
function sumOfProducts(a, b, count, result) {
    const terms = range(count).map((n) => `${signed(a(n), 8)} × ${signed(b(n), 8)}`);
    return `${terms.join(' + ')} = ${short(result, 8)}`;
}

const steps = {
    id: 'steps', preset: '000', sentence: '', stage: 0, row: 0, causal: false,
    grids: {}, newLine: null,

    start() {
        const presets = Object.entries(PRESETS).map(([id, p]) => [id, p.name]);
        fillSelect($('steps-preset'), [...presets, [SENTENCE, 'your sentence'], [OWN, 'your own']]);
        $('steps-preset').addEventListener('change', (event) => this.choosePreset(event.target.value));
        $('steps-sentence').addEventListener('input', (event) => this.setSentence(event.target.value));
        $('steps-back').addEventListener('click', () => this.go(-1));
        $('steps-next').addEventListener('click', () => this.go(1));
        $('steps-type').addEventListener('change', (event) => {
            this.type = event.target.value;
            this.changed();
        });
        $('steps-digits').addEventListener('change', (event) => {
            this.digits = Number(event.target.value);
            this.changed();
        });
        for (const [size, most] of [['lq', MOST_ROWS], ['lk', MOST_ROWS], ['d', MOST_COLS], ['dv', MOST_COLS]])
            $(`steps-${size}`).addEventListener('change', (event) => {
                const count = wholeNumber(event.target.parentNode.textContent.trim(), event.target.value, 1, most);
                if (count !== undefined) this.resize(size, count);
                this.render();
            });
        this.newLine = document.createElement('div');
        this.newLine.className = 'new-line';
        this.take(PRESETS[this.preset]);
    },

    // The numbers of a preset, a sentence or a link become the panel's.
    take(numbers) {
        for (const name of ['x', 'wq', 'wk', 'wv', 'q', 'k', 'v'])
            this[name] = numbers[name] ? matrix(numbers[name].rows, numbers[name].cols, numbers[name].values) : null;
        for (const name of ['type', 'digits', 'scale', 'labels']) this[name] = numbers[name];
        this.keyLabels = numbers.keyLabels || numbers.labels;
        this.ownScale = false;
        this.changing = '';
        if (!this.x && this.stage === 0) this.stage = 1;
        this.row = 0;
    },

    choosePreset(id) {
        notice('');
        this.preset = id;
        if (id === SENTENCE) {
            this.setSentence(this.sentence || 'the cat sees the dog');
            $('steps-sentence').value = this.sentence;
            return;
        }
        if (PRESETS[id]) {
            this.stage = 0;
            this.causal = false;
            this.take(PRESETS[id]);
        }
        this.changed();
    },

    setSentence(text) {
        const words = wellFormed(text).trim().split(/\s+/).filter(Boolean);
        this.sentence = text;
        notice('');
        if (words.length === 0) {
            notice('The sentence is empty: the numbers stay as they were.');
            return;
        }
        if (words.length > MOST_ROWS)
            notice(`A sentence has at most ${MOST_ROWS} words here: the others are left out.`);
        this.preset = SENTENCE;
        this.take(numbersOfSentence(words.slice(0, MOST_ROWS).map(cutWord)));
        this.changed();
    },

    // All numbers as they are, to go back to.
    snapshot() {
        const copy = {};
        for (const name of ['preset', 'row', 'labels', 'keyLabels']) copy[name] = this[name];
        for (const name of ['x', 'wq', 'wk', 'wv', 'q', 'k', 'v'])
            copy[name] = this[name] && matrix(this[name].rows, this[name].cols, this[name].values);
        return copy;
    },
    restore(copy) {
        Object.assign(this, copy);
        this.changed();
    },

    // Q, K and V are no longer those of the inputs.
    leaveInputs(why) {
        if (!this.x) return;
        const before = this.snapshot();
        this.x = this.wq = this.wk = this.wv = null;
        notice(`${why} ${NUMBERS_ARE_OWN}`, () => this.restore(before));
    },

    resize(size, count) {
        this.leaveInputs('Another size:');
        const fit = (m, rows, cols) => matrix(rows, cols, range(rows * cols).map((n) => {
            const r = Math.floor(n / cols), c = n % cols;
            return r < m.rows && c < m.cols ? m.values[r * m.cols + c] : (3 * r + 5 * c + 1) % 4;
        }));
        const labels = (old, rows, name) => {
            const known = /^(.*) 1$/.exec(old[0]);
            return range(rows).map((i) => old[i] || `${known ? known[1] : name} ${i + 1}`);
        };
        const lq = size === 'lq' ? count : this.q.rows, lk = size === 'lk' ? count : this.k.rows;
        const d = size === 'd' ? count : this.q.cols, dv = size === 'dv' ? count : this.v.cols;
        this.q = fit(this.q, lq, d), this.k = fit(this.k, lk, d), this.v = fit(this.v, lk, dv);
        this.labels = labels(this.labels, lq, 'query'), this.keyLabels = labels(this.keyLabels, lk, 'key');
        this.row = Math.min(this.row, lq - 1);
        this.stage = Math.max(this.stage, 1);
        this.preset = OWN;
        this.changed();
    },

    edit(name, r, c, text, done) {
        const m = this[name], x = parseNumber(text), where = `Row ${r + 1}, column ${c + 1} of ${TITLES[name]}`;
        if (x === undefined) {
            notice(text.trim() === '' ? `${where} is empty; it stays ${short(m.values[r * m.cols + c], 8)}.` :
                `“${text}” is no number. ${where} stays ${short(m.values[r * m.cols + c], 8)}.`);
            return;
        }
        if (this.changing !== where) notice(''); // while a number is typed, what can be undone stays so
        if (Object.is(m.values[r * m.cols + c], x)) return;
        this.changing = where;
        if (this.x && (name === 'q' || name === 'k' || name === 'v')) this.leaveInputs(`You changed ${TITLES[name]}:`);
        this[name].values[r * m.cols + c] = x;
        this.preset = OWN;
        this.changed();
    },

    go(by) {
        const first = this.x ? 0 : 1;
        this.stage = Math.min(Math.max(this.stage + by, first), STAGES.length - 1);
        this.changed();
        if ($('steps-next').disabled || $('steps-back').disabled) $('steps-title').focus({ preventScroll: true });
    },

    changed() {
        this.render();
        remember();
    },

    // ---- computing ----

    divisor() { return this.scale === '' ? Math.sqrt(this.q.cols) : Number(this.scale); },

    hidden() {
        const { rows } = this.q, cols = this.k.rows, o = cols - rows;
        return Uint8Array.from(range(rows * cols), (n) => this.causal && n % cols > Math.floor(n / cols) + o ? 1 : 0);
    },

    compute() {
        if (this.x)
            [this.q, this.k, this.v] = [this.wq, this.wk, this.wv].map((w) => engine.matmul(this.type, this.x, w));
        this.masks = this.hidden();
        const scale = this.scale === '' ? 0 : 1 / Number(this.scale);
        this.result = engine.steps(this.type, this.q, this.k, this.v, scale, this.masks, this.row);
    },

    // Why there are NaNs or infinities, from what was typed; '' if nothing that was typed is the cause.
    cause() {
        const names = ['x', 'wq', 'wk', 'wv', 'q', 'k', 'v'].filter((name) => this[name]);
        const isLarge = (x) => Number.isFinite(x) && Math.abs(x) > 3.4028235e38;
        const large = this.type === 'f32' && names.find((name) => this[name].values.some(isLarge));
        const odd = names.find((name) => this[name].values.some((x) => !Number.isFinite(x)));
        if (large) return ` ${TITLES[large]} has a number beyond the largest float, 3.4e38, which counts as ∞.`;
        return odd ? ` ${TITLES[odd]} has a number that is NaN or infinite.` : '';
    },

    // What is unusual about the numbers, in a sentence.
    remark() {
        const { weights, masked } = this.result, cause = this.cause();
        const nan = range(weights.rows).find((r) => rowOf(weights, r).some(Number.isNaN));
        const empty = range(weights.rows).find((r) => rowOf(weights, r).every((x) => x === 0));
        if (nan !== undefined)
            return `The weights of ${this.labels[nan]} are NaN, because one of its scores is NaN or +∞.` +
                (cause || ' The scores grew beyond what the numbers can hold.');
        if (empty !== undefined) return `${this.labels[empty]} sees no key: its weights and its output are 0.`;
        const isUsed = ['weighted', 'output'].includes(this.shownStage().id);
        if (isUsed && this.masks.includes(1) && this.v.values.some((x) => !Number.isFinite(x)))
            return 'This step multiplies all values, and 0 × NaN is NaN. attn_sdpa leaves hidden keys and values out.';
        if (masked.values.some((x) => x === -Infinity) && !this.causal)
            return `A score is −∞: that key gets no weight.${cause}`;
        return cause.trim();
    },

    // ---- showing ----

    // The texts of a matrix: as typed, as a notebook prints them, or with so many digits.
    texts(m, isTyped) {
        if (isTyped) return Array.from(m.values, plainOwn);
        if (PRESETS[this.preset])
            return range(m.rows).flatMap((r) => engine.words(this.type, rowOf(m, r), this.digits));
        return Array.from(m.values, (x) => fixed(x, this.digits));
    },

    note(name) {
        if (name === 'weighted') return `of ${this.labels[this.row]}`;
        return name === 'masked' || name === 'weights' ? 'rows: queries, columns: keys' : '';
    },

    content(name) {
        const editable = ['x', 'wq', 'wk', 'wv', 'q', 'k', 'v'].includes(name);
        const m = editable ? this[name] : this.result[name];
        const isScore = ['product', 'scaled', 'masked', 'weights'].includes(name);
        const isTyped = editable && (this.x ? !['q', 'k', 'v'].includes(name) : true);
        const [low, high] = name === 'weights' ? [0, 1] : extent(m.values);
        const hidden = name === 'masked' || name === 'weights' ? this.masks : null;
        const hiddenText = name === 'masked' ? '−∞' : '0';
        const numbered = (count) => range(count).map((i) => String(i + 1));
        const isWeight = ['wq', 'wk', 'wv'].includes(name), isOfKeys = ['k', 'v', 'weighted'].includes(name);
        return {
            name: TITLES[name],
            note: this.note(name),
            rows: m.rows,
            cols: m.cols,
            values: m.values,
            texts: this.texts(m, isTyped).map((text, n) => hidden && hidden[n] ? hiddenText : text),
            low,
            high,
            editable,
            rowLabels: isWeight ? numbered(m.rows) : isOfKeys ? this.keyLabels : this.labels,
            colLabels: isScore ? this.keyLabels : numbered(m.cols),
            hidden,
            chosenRow: name === 'weights' && this.shownStage().id === 'weighted' ? this.row : undefined,
        };
    },

    shownStage() { return STAGES[this.stage]; },

    // What is worth a try here.
    hint() {
        const stage = this.shownStage().id;
        if (stage === 'inputs' && this.preset === SENTENCE)
            return 'The numbers of a word are made up from its letters, so that a word has the same ones wherever it ' +
                'stands. The weights are random.';
        if (this.preset === '002' && ['weights', 'weighted', 'output'].includes(stage))
            return 'The notebook’s last digits are those of another way to round: 0.99946004 where exact arithmetic, ' +
                'and this page, have 0.99945998.';
        if (stage === 'qkv' && this.x) return 'Change one of them, and it no longer follows x.';
        const last = this.q.rows === this.k.rows ? '' : ' The last query stands at the last key.';
        if (stage === 'masked')
            return this.causal ? `Hatched: hidden.${last}` : 'Nothing is hidden yet: choose a mask.';
        if (stage === 'output' && this.causal && this.v.rows > 1)
            return 'Change the last row of V: nothing happens to those who do not see it.';
        return '';
    },

    shownGrids() {
        return {
            inputs: ['x', 'wq', 'wk', 'wv'],
            qkv: this.x ? ['x', 'wq', 'wk', 'wv', 'q', 'k', 'v'] : ['q', 'k', 'v'],
            product: ['q', 'k', 'product'],
            scaled: ['product', 'scaled'],
            masked: ['scaled', 'masked'],
            weights: ['masked', 'weights'],
            weighted: ['weights', 'v', 'weighted'],
            output: ['weights', 'v', 'output'],
        }[this.shownStage().id];
    },

    render() {
        if (attempt(() => { this.compute(); return true; }) !== true) return;
        const stage = this.shownStage();
        $('steps-preset').value = this.preset;
        if (document.activeElement !== $('steps-sentence'))
            $('steps-sentence').value = this.preset === SENTENCE ? this.sentence : '';
        $('steps-type').value = this.type;
        $('steps-digits').value = String(this.digits);
        $('steps-lq').value = this.q.rows;
        $('steps-lk').value = this.k.rows;
        $('steps-d').value = this.q.cols;
        $('steps-dv').value = this.v.cols;
        this.renderStages();
        $('steps-title').textContent = `${this.stage + 1}. ${stage.title}`;
        $('steps-text').textContent = `${stage.text} ${this.hint()}`;
        this.renderOptions();
        $('steps-remark').textContent = this.remark();
        this.renderMatrices();
    },

    newGrid(name) {
        return new Grid({
            look: (r, c) => this.look(name, r, c),
            edit: (r, c, text, done) => this.edit(name, r, c, text, done),
            choose: (r) => this.choose(name, r),
        });
    },

    renderMatrices() {
        const names = this.shownGrids();
        for (const name of names) {
            if (!this.grids[name]) this.grids[name] = this.newGrid(name);
            this.grids[name].update(this.content(name));
        }
        const shown = names.map((name) => this.grids[name].element), holder = $('steps-matrices');
        if (names.length === 7) shown.splice(4, 0, this.newLine); // Q, K and V below what they came from
        placeChildren(holder, shown);
        if (this.looked && names.includes(this.looked.name)) {
            this.look(this.looked.name, this.looked.r, this.looked.c);
        } else {
            this.forget();
        }
    },

    renderStages() {
        if (!$('steps-stages').children.length) {
            const item = (s, n) =>
                `<li><button type="button" data-stage="${n}">${n + 1} ${escapeText(s.name)}</button></li>`;
            $('steps-stages').innerHTML = STAGES.map(item).join('');
            $('steps-stages').addEventListener('click', (event) => {
                if (!event.target.dataset.stage) return;
                this.stage = Number(event.target.dataset.stage);
                this.changed();
            });
        }
        for (const button of $('steps-stages').querySelectorAll('button')) {
            const n = Number(button.dataset.stage);
            button.disabled = n === 0 && !this.x;
            if (n === this.stage) button.setAttribute('aria-current', 'step');
            else button.removeAttribute('aria-current');
        }
        $('steps-back').disabled = this.stage === (this.x ? 0 : 1);
        $('steps-next').disabled = this.stage === STAGES.length - 1;
    },

    // What can be chosen at the stages of scaling and masking.
    renderOptions() {
        const stage = this.shownStage().id, holder = $('steps-options');
        if (holder.dataset.stage !== stage) {
            holder.dataset.stage = stage;
            holder.innerHTML = { scaled: SCALE_OPTIONS, masked: MASK_OPTIONS }[stage] || '';
            if (stage === 'scaled') this.startScaleOptions();
            if (stage === 'masked') this.startMaskOptions();
        }
        if (stage === 'masked') $('steps-mask').value = this.causal ? 'causal' : '';
        if (stage !== 'scaled') return;
        const own = this.scale !== '' && (this.scale !== '1' || this.ownScale);
        $('steps-scale').value = own ? 'own' : this.scale;
        $('steps-divisor-label').hidden = !own;
        if (document.activeElement !== $('steps-divisor')) $('steps-divisor').value = this.scale;
    },

    startScaleOptions() {
        $('steps-scale').addEventListener('change', (event) => {
            const isOwn = event.target.value === 'own';
            this.setScale(isOwn ? '2' : event.target.value, isOwn);
        });
        $('steps-divisor').addEventListener('input', (event) => this.setScale(event.target.value, true));
    },

    startMaskOptions() {
        $('steps-mask').addEventListener('change', (event) => {
            this.causal = event.target.value === 'causal';
            this.changed();
        });
    },

    setScale(text, own) {
        const x = text === '' && !own ? 1 : parseNumber(text);
        if (!isDivisor(x)) {
            notice(`Scores cannot be divided by “${text}”: they are still divided by ${short(this.divisor())}.`);
            return;
        }
        notice('');
        this.ownScale = own;
        this.scale = text === '' ? '' : String(x);
        this.changed();
    },

    choose(name, r) {
        if (name !== 'weights') return;
        this.row = r;
        this.changed();
    },

    // ---- the sum behind a number ----

    look(name, r, c) {
        this.looked = { name, r, c };
        const { text, sources } = this.explain(name, r, c);
        tell('steps-sum', text);
        for (const [other, grid] of Object.entries(this.grids)) grid.mark(sources[other] || (() => false));
        this.grids[name].point(r, c);
    },

    // Nothing is looked at.
    forget() {
        this.looked = null;
        for (const grid of Object.values(this.grids)) grid.mark(() => false);
        tell('steps-sum', POINT_AT_A_NUMBER, false);
    },

    // How a number came about: { text, sources }. sources[name](i, j): whether that cell of a matrix is in the sum.
    explain(name, r, c) {
        const fromInputs = { q: 'wq', k: 'wk', v: 'wv' }[name];
        if (fromInputs && this.x) return this.explainProjection(name, fromInputs, r, c);
        if (this[name]) return this.explainTyped(name, r, c);
        if (name === 'product') return this.explainScore(r, c);
        if (name === 'scaled') return this.explainScaled(r, c);
        if (name === 'masked') return this.explainMasked(r, c);
        if (name === 'weights') {
            const sources = this.shownStage().id === 'weights' ? { masked: (i) => i === r } : {};
            return { text: this.explainWeight(r, c), sources };
        }
        return name === 'weighted' ? this.explainWeighted(r, c) : this.explainOutput(r, c);
    },

    explainProjection(name, weight, r, c) {
        const { x } = this, w = this[weight];
        const sum = sumOfProducts((n) => entry(x, r, n), (n) => entry(w, n, c), x.cols, entry(this[name], r, c));
        const where = `${TITLES[name]}, ${this.labels[r]}, ${c + 1}`;
        return { text: `${where}: row of x times column of ${TITLES[weight]} = ${sum}`,
            sources: { x: (i) => i === r, [weight]: (i, j) => j === c } };
    },

    explainTyped(name, r, c) {
        const where = `${TITLES[name]}, row ${r + 1}, column ${c + 1}`;
        return { text: `${where}: ${short(entry(this[name], r, c), 8)}. You can change it.`, sources: {} };
    },

    explainScore(r, c) {
        const { q, k } = this, score = entry(this.result.product, r, c);
        const sum = sumOfProducts((n) => entry(q, r, n), (n) => entry(k, c, n), q.cols, score);
        return { text: `score of ${this.labels[r]} with ${this.keyLabels[c]}: query times key = ${sum}`,
            sources: { q: (i) => i === r, k: (i) => i === c } };
    },

    explainScaled(r, c) {
        const { product, scaled } = this.result;
        const divisor = this.scale === '' ? `√${this.q.cols}` : signed(this.divisor());
        return { text: `${short(entry(product, r, c), 8)} ÷ ${divisor} = ${short(entry(scaled, r, c), 8)}`,
            sources: { product: (i, j) => i === r && j === c } };
    },

    explainMasked(r, c) {
        const query = this.labels[r], key = this.keyLabels[c], isHidden = this.masks[r * this.k.rows + c];
        const before = short(entry(this.result.scaled, r, c), 8), after = short(entry(this.result.masked, r, c), 8);
        const text = isHidden ?
            `${key} comes after ${query}, which does not see it: −∞ takes the place of ${before}` :
            `${query} sees ${key}: its score stays ${after}`;
        return { text, sources: { scaled: (i, j) => i === r && j === c } };
    },

    explainWeighted(r, c) {
        const { weights, weighted } = this.result;
        const product = `${signed(entry(weights, this.row, r), 8)} × ${signed(entry(this.v, r, c), 8)}`;
        return { text: `${this.keyLabels[r]}: its weight × its value = ${product} = ${short(entry(weighted, r, c), 8)}`,
            sources: { weights: (i, j) => i === this.row && j === r, v: (i, j) => i === r && j === c } };
    },

    explainOutput(r, c) {
        const { weights, output } = this.result, { v } = this;
        const sum = sumOfProducts((n) => entry(weights, r, n), (n) => entry(v, n, c), v.rows, entry(output, r, c));
        return { text: `output of ${this.labels[r]}, ${c + 1}: weights times values = ${sum}`,
            sources: { weights: (i) => i === r, v: (i, j) => j === c } };
    },

    explainWeight(r, c) {
        const { masked, weights } = this.result, scores = Array.from(rowOf(masked, r));
        const seen = scores.filter((s) => s !== -Infinity);
        const top = Math.max(...seen), weight = short(rowOf(weights, r)[c], 8);
        const pair = `weight that ${this.labels[r]} gives ${this.keyLabels[c]}: `;
        if (seen.length === 0) return `${pair}0, for it sees no key`;
        if (scores[c] === -Infinity) return `${pair}exp(−∞) = 0, whatever the others are`;
        if (!Number.isFinite(top)) return `${pair}${weight}, for a score of its row is NaN or +∞`;
        const exps = seen.map((s) => Math.exp(s - top)), power = (s) => `exp(${short(s, 6)} − ${signed(top, 6)})`;
        const sum = short(exps.reduce((a, b) => a + b, 0), 8);
        return `${pair}${power(scores[c])} ÷ (${seen.map(power).join(' + ')}) = ` +
            `${short(Math.exp(scores[c] - top), 8)} ÷ ${sum} = ${weight}`;
    },

    // ---- saving and links ----

    picture(theme) {
        const parts = this.shownGrids().map((name) => {
            const content = this.content(name);
            return svgHeatmap({ ...content, title: titled(content) }, theme);
        });
        const mask = this.causal ? ', causal mask' : '';
        return svgDocument(`Attention: ${this.shownStage().title}${mask}`, parts, theme);
    },

    write(link) {
        link.set('numbers', this.preset);
        link.set('step', this.shownStage().id);
        if (this.preset === SENTENCE) link.set('sentence', this.sentence);
        if (this.preset === OWN) {
            for (const name of this.x ? ['x', 'wq', 'wk', 'wv'] : ['q', 'k', 'v'])
                link.set(name, writeMatrix(this[name]));
            link.set('labels', writeLabels(this.labels));
            link.set('keys', writeLabels(this.keyLabels));
        }
        link.set('type', this.type);
        link.set('digits', this.digits);
        link.set('divisor', this.scale || 'root');
        if (this.causal) link.set('mask', 'causal');
        if (this.row) link.set('query', this.row + 1);
    },

    read(link) {
        const preset = link.get('numbers') || '000', stage = STAGES.findIndex((s) => s.id === link.get('step'));
        const divisor = parseNumber(link.get('divisor') || '');
        this.looked = null;
        this.ownScale = false;
        this.causal = choice(link, 'mask', ['causal'], '') === 'causal';
        choice(link, 'step', STAGES.map((s) => s.id));
        this.stage = Math.max(stage, 0);
        if (Object.hasOwn(PRESETS, preset)) {
            this.preset = preset;
            this.take(PRESETS[preset]);
        } else if (preset === SENTENCE && (link.get('sentence') || '').trim()) {
            this.setSentence(link.get('sentence').slice(0, 200));
            this.stage = Math.max(stage, 0);
        } else if (preset === OWN) {
            this.readOwn(link);
        } else {
            notice('The link names numbers that there are not; here are those of notebook 000.');
        }
        this.type = choice(link, 'type', Object.keys(TYPES), this.type);
        this.digits = Number(choice(link, 'digits', ['2', '4', '8'], this.digits));
        if (link.get('divisor') === 'root') {
            this.scale = '';
        } else if (isDivisor(divisor)) {
            this.scale = String(divisor);
            this.ownScale = divisor !== 1;
        } else if (link.has('divisor')) {
            notice('The link’s “divisor” is no number that scores can be divided by.');
        }
        if (!this.x) this.stage = Math.max(this.stage, 1);
        const query = parseNumber(link.get('query') || '');
        this.row = Number.isInteger(query) && query >= 1 && query <= (this.x || this.q).rows ? query - 1 : 0;
    },

    readOwn(link) {
        const m = {}, names = link.get('x') ? ['x', 'wq', 'wk', 'wv'] : ['q', 'k', 'v'];
        for (const name of names) m[name] = readMatrix(link.get(name) || '', MOST_ROWS, MOST_COLS);
        if (!this.fit(m, names)) {
            notice('The matrices of the link do not fit together; here are those of notebook 000.');
            this.take(PRESETS['000']);
            this.preset = '000';
            return;
        }
        const labels = (text, count, name) => {
            const given = readLabels(text || '');
            return range(count).map((i) => cutWord(given[i] || `${name} ${i + 1}`));
        };
        this.preset = OWN;
        this.take({
            ...m,
            type: 'f32',
            digits: 4,
            scale: '',
            labels: labels(link.get('labels'), (m.x || m.q).rows, m.x ? 'input' : 'query'),
            keyLabels: labels(link.get('keys'), (m.x || m.k).rows, m.x ? 'input' : 'key'),
        });
    },

    // Whether all of these matrices are there, and can be multiplied with each other.
    fit(m, names) {
        if (!names.every((name) => m[name])) return false;
        if (!m.x) return m.q.cols === m.k.cols && m.k.rows === m.v.rows;
        return ['wq', 'wk', 'wv'].every((w) => m[w].rows === m.x.cols) && m.wq.cols === m.wk.cols;
    },
};

const TITLES = {
    x: 'x', wq: 'Wq', wk: 'Wk', wv: 'Wv', q: 'Q', k: 'K', v: 'V',
    product: 'Scores', scaled: 'Scaled scores', masked: 'Masked scores',
    weights: 'Weights', weighted: 'Weighted values', output: 'Output',
};
const plainOwn = (x) => Number.isFinite(x) ? String(x).replace('-', '−') : short(x);
panels.push(steps);

// ==== Panel 2: masking ===============================================================================================

// The options of page_attend, in its order. `on`: it can be off, and then is NaN.
const MASKING = [
    { id: 'causal', name: 'Causal rule',
        choices: [['0', 'none'], ['1', 'upper left'], ['2', 'lower right'], ['3', 'offset']] },
    { id: 'offset', name: 'Offset of the queries', least: -16, most: 16, step: 1 },
    { id: 'left', name: 'Window to the left', least: 0, most: 15, step: 1, on: true,
        about: 'so many keys before its own position' },
    { id: 'right', name: 'Window to the right', least: 0, most: 15, step: 1, on: true,
        about: 'so many keys after it' },
    { id: 'qlen', name: 'Valid queries', least: 0, most: 16, step: 1, on: true,
        about: 'the others are padding, whose output is 0' },
    { id: 'kvlen', name: 'Valid keys', least: 0, most: 16, step: 1, on: true,
        about: 'the others are padding, which nobody sees' },
    { id: 'alibi', name: 'ALiBi slope', least: 0, most: 2, step: 0.05, on: true,
        about: 'takes slope × distance off each score' },
    { id: 'softcap', name: 'Softcap', least: 0.1, most: 10, step: 0.1, on: true,
        about: 'bends scores so that none is beyond it' },
    { id: 'sink', name: 'Sink', least: -5, most: 5, step: 0.25, on: true,
        about: 'a score without a key: it takes weight and gives nothing' },
    { id: 'temperature', name: 'Temperature', least: 0.1, most: 5, step: 0.1,
        about: 'divides scores: above 1 weights are more even' },
];
const SIZES = [
    { id: 'lq', name: 'Queries', least: 1, most: 16, step: 1 },
    { id: 'lk', name: 'Keys', least: 1, most: 16, step: 1 },
];
const SHOWS = [['weights', 'weights'], ['final', 'scores given to softmax']];
const SCORES = [['random', 'of random numbers'], ['alike', 'all alike']];
const NONE = 0, UPPER_LEFT = 1, LOWER_RIGHT = 2, OFFSET = 3, KEY_SIZE = 8;

const MASKING_AT_FIRST = {
    lq: 7, lk: 7, causal: 1, offset: 0, left: 2, right: 1, qlen: 5, kvlen: 5,
    alibi: 0.5, softcap: 1, sink: 1, temperature: 1,
};

const POINT_AT_A_CELL =
    'Point at a cell, or go to it with the arrow keys: why it is hidden, or what its weight came from.';
const NOBODY_LOOKS_AHEAD = 'Nobody sees what comes after its own position: when a text is written word by word, ' +
    'the later words are not there yet.';

// An option of the panel, as HTML: a list of choices.
function choiceHtml(id, name, choices) {
    const items = choices.map(([value, text]) => `<option value="${value}">${text}</option>`).join('');
    return `<div class="option"><label>${name} <select id="masking-${id}">${items}</select></label></div>`;
}

// An option of the panel, as HTML: a number, by slider or typed, which may be off.
function numberHtml(o) {
    const id = `masking-${o.id}`, bounds = `min="${o.least}" max="${o.most}" step="${o.step}"`;
    const label = o.on ?
        `<label for="${id}-on" class="check"><input type="checkbox" id="${id}-on"> ${o.name}</label>` :
        `<label for="${id}">${o.name}</label>`;
    const slider = `<input type="range" id="${id}" aria-label="${o.name}" ${bounds}>`;
    const box = `<input type="number" id="${id}-number" aria-label="${o.name}, as a number" ${bounds}>`;
    const about = o.about ? `<small>${o.about}</small>` : '';
    return `<div class="option" id="${id}-option">${label}${about}${slider}${box}</div>`;
}

const masking = {
    id: 'masking', grids: {}, values: { ...MASKING_AT_FIRST }, isOn: {}, show: 'weights', scores: 'random',

    start() {
        const option = (o) => o.choices ? choiceHtml(o.id, o.name, o.choices) : numberHtml(o);
        $('masking-options').innerHTML = [...SIZES, ...MASKING].map(option).join('') +
            choiceHtml('scores', 'Scores', SCORES) + choiceHtml('show', 'Show', SHOWS);
        $('masking-options').addEventListener('submit', (event) => event.preventDefault());
        for (const o of [...SIZES, ...MASKING]) this.startOption(o);
        for (const name of ['scores', 'show'])
            $(`masking-${name}`).addEventListener('change', (event) => {
                this[name] = event.target.value;
                this.changed();
            });
        this.grids.map = new Grid({ look: (r, c) => this.look(r, c) });
        this.grids.rows = new Grid({ look: (r) => this.look(r, null) });
        $('masking-map').replaceChildren(this.grids.map.element);
        $('masking-rows').replaceChildren(this.grids.rows.element);
    },

    startOption(o) {
        const set = (event) => this.set(o, event.target.value, event.type === 'change');
        for (const id of [`masking-${o.id}`, `masking-${o.id}-number`]) {
            if (!$(id)) continue;
            $(id).addEventListener('input', set);
            $(id).addEventListener('change', set);
        }
        if (!o.on) return;
        $(`masking-${o.id}-on`).addEventListener('change', (event) => {
            this.isOn[o.id] = event.target.checked;
            this.changed();
        });
    },
    set(o, text, done) {
        const x = parseNumber(text), integer = o.step === 1 || o.choices;
        const least = o.choices ? 0 : o.least, most = o.choices ? 3 : o.most;
        if (x === undefined || !(x >= least && x <= most) || (integer && !Number.isInteger(x))) {
            const kind = integer ? 'whole number' : 'number', old = short(this.values[o.id]);
            notice(`${o.name}: “${text}” is no ${kind} from ${least} to ${most}; it stays ${old}.`);
            if (done) this.render();
            return;
        }
        notice('');
        this.values[o.id] = x;
        if (o.on) this.isOn[o.id] = true;
        this.changed();
    },

    changed() {
        this.render();
        remember();
    },

    // Lengths cannot be beyond the sizes.
    length(id, size) { return this.isOn[id] ? Math.min(this.values[id], this.values[size]) : NaN; },

    compute() {
        const { lq, lk, temperature } = this.values;
        const numbers = (seed, rows) => {
            const count = rows * KEY_SIZE, isAlike = this.scores === 'alike';
            return matrix(rows, KEY_SIZE, isAlike ? new Float64Array(count) : engine.random(count, seed, -2, 2));
        };
        const options = MASKING.map((o) => o.on && !this.isOn[o.id] ? NaN : this.values[o.id]);
        options[MASKING.findIndex((o) => o.id === 'qlen')] = this.length('qlen', 'lq');
        options[MASKING.findIndex((o) => o.id === 'kvlen')] = this.length('kvlen', 'lk');
        options[MASKING.findIndex((o) => o.id === 'temperature')] = 1 / (temperature * Math.sqrt(KEY_SIZE));
        this.result = engine.attend(options, numbers(8, lq), numbers(6, lk), matrix(lk, 1, range(lk)));
        this.hidden = Uint8Array.from(this.result.final.values, (s) => s === -Infinity ? 1 : 0);
    },

    // Where query i stands among the keys.
    position(i) {
        const { causal, offset, lq, lk } = this.values;
        if (causal <= UPPER_LEFT) return i;
        if (causal !== LOWER_RIGHT) return i + offset;
        const qlen = this.length('qlen', 'lq'), kvlen = this.length('kvlen', 'lk');
        return i + (Number.isNaN(kvlen) ? lk : kvlen) - (Number.isNaN(qlen) ? lq : qlen);
    },

    // Why query i does not see key j: '' if it does.
    reason(i, j) {
        const { causal, left, right } = this.values, p = this.position(i), at = `position ${short(p)}`;
        if (i >= this.length('qlen', 'lq')) return `query ${i} is past the valid queries`;
        if (j >= this.length('kvlen', 'lk')) return `key ${j} is past the valid keys`;
        if (causal !== NONE && j > p) return `key ${j} comes after ${at}, where query ${i} stands (causal)`;
        if (this.isOn.left && j < p - left)
            return `key ${j} is more than ${left} to the left of ${at} (window)`;
        if (this.isOn.right && j > p + right)
            return `key ${j} is more than ${right} to the right of ${at} (window)`;
        return '';
    },

    // The options that are on, for the title of a picture.
    summary() {
        const { choices } = MASKING[0], { causal, temperature } = this.values;
        const rule = causal === NONE ? 'no causal rule' : `causal, ${choices[causal][1]}`;
        const options = MASKING.filter((o) => o.on && this.isOn[o.id]).map((o) => `${o.name} ${this.values[o.id]}`);
        if (causal === OFFSET) options.unshift(`by ${this.values.offset}`);
        if (temperature !== 1) options.push(`Temperature ${temperature}`);
        return [rule, ...options].join('; ');
    },

    seenBy(i) { return range(this.values.lk).filter((j) => !this.hidden[i * this.values.lk + j]); },

    rule() {
        const { causal, lq, lk, offset } = this.values;
        const first = short(this.position(0)), after = NOBODY_LOOKS_AHEAD;
        const other = ' Here that is also upper left: make Keys larger to see another rule.';
        const alike = this.position(0) === 0 ? other : '';
        if (causal === NONE) return 'No causal rule: every query sees every key, what comes later, too.';
        if (causal === UPPER_LEFT)
            return `Causal, upper left: query i stands at position i, the first query at the first key. ${after}`;
        if (causal === LOWER_RIGHT)
            return 'Causal, lower right: the last query stands at the last key, as when new words follow old ones ' +
                `that are kept (${lk} keys, ${lq} queries: query 0 at position ${first}).${alike} ${after}`;
        return `Causal, offset: query i stands at position i ${offset < 0 ? '−' : '+'} ${Math.abs(offset)}. ${after}`;
    },

    render() {
        if (attempt(() => { this.compute(); return true; }) !== true) return;
        const { lq, lk } = this.values, { r, c } = this.looked || {};
        const seen = this.hidden.reduce((sum, h) => sum + 1 - h, 0);
        this.renderOptions();
        const blind = range(lq).filter((i) => !this.seenBy(i).length);
        const queries = blind.length === 1 ? `Query ${blind[0]} sees` : `Queries ${listed(blind)} see`;
        const nothing = blind.length ? ` ${queries} nothing: there is nothing to share, and the output is 0.` : '';
        $('masking-text').textContent = `${this.rule()} ${seen} of ${lq * lk} pairs are seen.${nothing}`;
        $('masking-explain').textContent = this.result.explain;
        this.renderMap();
        this.renderRows();
        if (this.looked && r < lq && (c === null || c < lk)) this.look(r, c);
        else this.forget();
    },

    renderMap() {
        const { lq, lk } = this.values, isWeights = this.show === 'weights';
        const shown = isWeights ? this.result.weights : this.result.final;
        const [low, high] = isWeights ? [0, Math.max(...shown.values, 0.01)] : extent(shown.values);
        this.grids.map.update({
            name: isWeights ? 'Weights' : 'Scores',
            note: 'rows: queries, columns: keys',
            rows: lq,
            cols: lk,
            values: shown.values,
            texts: Array.from(shown.values, (x, n) => this.hidden[n] ? '' : x.toFixed(2).replace('-', '−')),
            low,
            high,
            hidden: this.hidden,
            rowLabels: range(lq).map((i) => `query ${i}`),
            colLabels: range(lk).map(String),
        });
    },

    renderRows() {
        const { lq } = this.values, { weights, lse, output } = this.result;
        const rows = range(lq).map((r) =>
            [this.seenBy(r).length, rowOf(weights, r).reduce((a, b) => a + b, 0), lse[r], output.values[r]]);
        const decimal = (x) => Number.isFinite(x) ? x.toFixed(3).replace('-', '−') : short(x);
        this.grids.rows.update({
            name: 'Each query',
            note: 'key j has the value j',
            rows: lq,
            cols: 4,
            values: rows.flat(),
            texts: rows.flatMap(([count, ...others]) => [String(count), ...others.map(decimal)]),
            rowLabels: range(lq).map((i) => `query ${i}`),
            colLabels: ['keys seen', 'sum of weights', 'log-sum-exp', 'output'],
        });
    },

    renderOptions() {
        for (const o of [...SIZES, ...MASKING]) {
            const limit = { qlen: this.values.lq, kvlen: this.values.lk }[o.id];
            const value = limit === undefined ? this.values[o.id] : Math.min(this.values[o.id], limit);
            for (const id of [`masking-${o.id}`, `masking-${o.id}-number`]) {
                if (!$(id)) continue;
                if (limit !== undefined) $(id).max = limit;
                if (document.activeElement !== $(id) || $(id).type === 'range') $(id).value = value;
            }
            if (!o.on) continue;
            $(`masking-${o.id}-on`).checked = Boolean(this.isOn[o.id]);
            $(`masking-${o.id}-option`).classList.toggle('off', !this.isOn[o.id]);
        }
        $('masking-offset-option').hidden = this.values.causal !== OFFSET;
        $('masking-scores').value = this.scores;
        $('masking-show').value = this.show;
    },

    // Nothing is looked at.
    forget() {
        this.looked = null;
        for (const grid of Object.values(this.grids)) grid.mark(() => false);
        tell('masking-sum', POINT_AT_A_CELL, false);
    },

    look(r, c) {
        this.looked = { r, c };
        this.grids.map.mark((i) => i === r);
        this.grids.rows.mark((i) => i === r);
        if (c !== null) this.grids.map.point(r, c);
        tell('masking-sum', c === null ? this.explainRow(r) : this.explainCell(r, c));
    },

    explainRow(r) {
        const seen = this.seenBy(r), { weights, lse } = this.result;
        if (!seen.length)
            return `Query ${r} sees no key: its weights and its output are 0, its log-sum-exp is ${short(lse[r])}.`;
        const keys = `${seen.length === 1 ? 'key' : 'keys'} ${listed(seen)}`;
        const taken = short(1 - rowOf(weights, r).reduce((a, b) => a + b, 0), 3);
        const sink = this.isOn.sink ? ` The sink takes ${taken} of its attention, and gives nothing for it.` : '';
        return `Query ${r} stands at position ${short(this.position(r))} and sees ${keys}.${sink}`;
    },

    explainCell(r, c) {
        const n = r * this.values.lk + c, { scaled, capped, final, weights, lse } = this.result;
        const { temperature, softcap, alibi } = this.values;
        const reason = this.reason(r, c), distance = Math.abs(this.position(r) - c);
        if (reason) return `Query ${r} does not see key ${c}: ${reason}. The weight is 0.`;
        const heat = temperature === 1 ? '' : ` ÷ ${short(temperature)}`, cap = short(softcap);
        const parts = [`score q · k ÷ √${KEY_SIZE}${heat} = ${short(scaled.values[n])}`];
        if (this.isOn.softcap) parts.push(`softcap ${cap} × tanh(… ÷ ${cap}) = ${short(capped.values[n])}`);
        if (this.isOn.alibi) parts.push(`ALiBi − ${short(alibi)} × ${distance} = ${short(final.values[n])}`);
        const power = `exp(${short(final.values[n])} − ${signed(lse[r])})`;
        return `Query ${r} looks at key ${c}: ${parts.join('; ')}. Weight: ${power} = ${short(weights.values[n])}, ` +
            `where ${short(lse[r])} is the log-sum-exp of the row. ${this.explainRow(r)}`;
    },

    picture(theme) {
        const parts = Object.values(this.grids).map(({ content }) =>
            svgHeatmap({ ...content, title: titled(content) }, theme));
        return svgDocument(`Masking: ${this.summary()}`, parts, theme);
    },

    write(link) {
        for (const o of [...SIZES, ...MASKING])
            if (!o.on || this.isOn[o.id]) link.set(o.id, this.values[o.id]);
        link.set('scores', this.scores);
        link.set('show', this.show);
    },

    // What a link does not say is as at first.
    read(link) {
        this.values = { ...MASKING_AT_FIRST };
        this.isOn = {};
        for (const o of [...SIZES, ...MASKING])
            if (link.has(o.id)) this.setFromLink(o, link.get(o.id));
        this.scores = choice(link, 'scores', SCORES.map(([id]) => id), 'random');
        this.show = choice(link, 'show', SHOWS.map(([id]) => id), 'weights');
    },

    setFromLink(o, text) {
        const x = parseNumber(text), least = o.choices ? 0 : o.least, most = o.choices ? 3 : o.most;
        if (x === undefined || !(x >= least && x <= most) || ((o.choices || o.step === 1) && !Number.isInteger(x))) {
            const said = text.slice(0, 20);
            notice(`The link’s “${o.id}”, “${said}”, is no number from ${least} to ${most}; it was left out.`);
            return;
        }
        this.values[o.id] = x;
        if (o.on) this.isOn[o.id] = true;
    },
};
panels.push(masking);

// ==== Panel 3: translation ===========================================================================================

const POINT_AT_A_WEIGHT = 'Point at a weight, or go to it with the arrow keys.';
const EASY = 'It is easy to translate languages with transformers';
const BETWEEN_WORDS = /[\s.?!,;:()"“”]+/;
const LOOKS = {
    cross: ['translation', 'sentence'],
    encoder: ['token that looks', 'token that is looked at'],
    decoder: ['token written', 'token before it'],
};

const translation = {
    id: 'translation', text: EASY, beams: 4, part: 'cross', block: 2, head: 1,

    start() {
        this.words = new Set(fileText('words').split('\n'));
        this.sentences = fileText('sentences').split('\n');
        this.chosen = 0;
        fillSelect($('translation-beams'), range(8).map((n) => [n + 1, n ? String(n + 1) : '1 (greedy)']));
        const button = (word) => `<button type="button">${escapeText(word)}</button>`;
        $('translation-list').innerHTML = Array.from(this.words, button).join('');
        $('translation-list').addEventListener('click', (event) => {
            if (event.target.tagName !== 'BUTTON') return;
            this.setText(`${this.text.trimEnd()} ${event.target.textContent}`.trim());
        });
        $('translation-source').addEventListener('input', (event) => {
            this.text = event.target.value;
            clearTimeout(this.timer);
            this.timer = setTimeout(() => shown === this && this.changed(), 250);
        });
        $('translation-beams').addEventListener('change', (event) => {
            this.beams = Number(event.target.value);
            this.changed();
        });
        $('translation-another').addEventListener('click', () => {
            this.chosen = (this.chosen + 37) % this.sentences.length;
            this.setText(this.sentences[this.chosen]);
        });
        $('translation-part').addEventListener('change', (event) => {
            this.part = event.target.value;
            this.renderHeads();
            remember();
        });
        $('translation-heads').addEventListener('click', (event) => {
            const button = event.target.closest('button');
            if (!button) return;
            this.block = Number(button.dataset.block), this.head = Number(button.dataset.head);
            this.renderHeads();
            remember();
        });
    },

    setText(text) {
        this.text = text.slice(0, 300);
        this.changed();
    },

    changed() {
        this.render();
        remember();
    },

    unknownWords() {
        const isKnown = (word) => this.words.has(word.toLowerCase().replace('’', '\''));
        return this.text.split(BETWEEN_WORDS).filter((word) => word && !isKnown(word));
    },

    render() {
        if (document.activeElement !== $('translation-source')) $('translation-source').value = this.text;
        $('translation-beams').value = String(this.beams);
        $('translation-part').value = this.part;
        this.renderUnknown();
        const empty = this.text.trim() === '';
        this.translate();
        const guesses = 'The model was not taught some of these words: it will guess.';
        if (empty) notice('The sentence is empty: there is nothing to translate.');
        else if (this.result) notice(this.unknownWords().length ? guesses : '');
        $('translation-target').textContent = this.result ? this.result.text : '';
        this.renderTokens();
        this.renderSearch();
        this.renderHeads();
    },

    // Unless it is there already.
    translate() {
        const asked = JSON.stringify([this.text, this.beams]);
        if (asked === this.asked) return;
        this.asked = asked;
        const isEmpty = this.text.trim() === '';
        this.result = isEmpty ? null : attempt(() => engine.translate(this.text, this.beams)) || null;
        if (!this.result) this.asked = '';
    },

    renderUnknown() {
        const unknown = new Set(this.unknownWords());
        $('translation-unknown').hidden = unknown.size === 0;
        const marked = (part) => unknown.has(part) ? `<mark>${escapeText(part)}</mark>` : escapeText(part);
        const parts = this.text.split(new RegExp(`(${BETWEEN_WORDS.source})`)).map(marked).join('');
        $('translation-unknown').innerHTML =
            unknown.size === 0 ? '' : `It does not know the words that are marked: ${parts}`;
    },

    renderTokens() {
        const { source, target } = this.result || { source: [], target: [] };
        for (const [id, tokens] of [['read', source], ['written', target]])
            $(`translation-${id}`).innerHTML = tokens.map((token) => `<span>${escapeText(token)}</span>`).join('');
    },

    // The hypotheses of each step, as a tree; those that became the translation stand out.
    renderSearch() {
        if (!this.result) {
            $('translation-search').textContent = '';
            $('translation-tree').innerHTML = '';
            return;
        }
        const { score, target } = this.result;
        const kept = this.beams === 1 ? 'likeliest token goes' : `${this.beams} likeliest beginnings go`;
        $('translation-search').textContent = `At each step the ${kept} on. The number under a token is the sum of ` +
            'logarithms of its beginning’s probabilities. Divided by the length, that of the best translation is ' +
            `${short(score, 3)}.`;
        $('translation-tree').innerHTML = svgElement(this.tree(themeNow()), `Beams: ${target.join(' ')}`);
    },

    // The steps of the search. Each node gets its `path`, the tokens up to it; `best`, whether the translation begins
    // with them; and `parent`, the place of the node before it, -1 at first.
    searchSteps() {
        const { target, steps } = this.result;
        let before = [];
        return steps.filter((step) => step.length).map((step) => {
            before = step.map((node) => {
                const parent = before.findIndex((other) => other.beam === node.from);
                const path = [...(parent < 0 ? [] : before[parent].path), node.token];
                return { ...node, path, parent, best: path.every((token, i) => token === target[i]) };
            });
            return before;
        });
    },

    tree(theme) {
        const ink = SVG[theme], steps = this.searchSteps(), nodes = [], edges = [];
        const widths = steps.map((step) => Math.max(52, ...step.map((node) => textWidth(node.token) + 18)));
        const x = widths.map((_, n) => 10 + widths.slice(0, n).reduce((a, b) => a + b + 26, 0));
        steps.forEach((step, n) => step.forEach(({ token, score, parent, best }, place) => {
            const y = 8 + 44 * place, colour = best ? SVG.darkLines[1] : ink.line, centre = x[n] + widths[n] / 2;
            if (parent >= 0) {
                const from = `${x[n - 1] + widths[n - 1]} ${24 + 44 * parent}`, to = `${x[n]} ${y + 16}`;
                const bend = `${x[n] - 10} ${24 + 44 * parent} ${x[n] - 16} ${y + 16}`;
                const stroke = `stroke="${colour}" stroke-width="${best ? 3 : 1.5}"`;
                edges.push(`<path fill="none" ${stroke} d="M${from}C${bend} ${to}"/>`);
            }
            const size = `width="${widths[n]}" height="34" rx="5"`;
            const paint = `fill="${ink.ground}" stroke="${colour}" stroke-width="${best ? 3 : 1}"`;
            const sum = score > -0.005 ? short(score, 1) : score.toFixed(2).replace('-', '−');
            nodes.push(`<rect x="${x[n]}" y="${y}" ${size} ${paint}/>`);
            nodes.push(svgText(centre, y + 15, token, `text-anchor="middle" fill="${ink.ink}"`));
            nodes.push(svgText(centre, y + 28, sum, `text-anchor="middle" font-size="10" fill="${ink.quiet}"`));
        }));
        const width = steps.length ? x[steps.length - 1] + widths[steps.length - 1] + 10 : 10;
        const height = 12 + 44 * Math.max(1, ...steps.map((step) => step.length));
        return { svg: edges.join('') + nodes.join(''), width, height };
    },

    heads() { return this.result ? this.result.attention[this.part] : []; },

    renderHeads() {
        const blocks = this.heads();
        this.block = Math.min(this.block, Math.max(blocks.length - 1, 0));
        this.head = Math.min(this.head, blocks.length ? blocks[0].length - 1 : 0);
        const focused = document.activeElement && document.activeElement.closest('#translation-heads button');
        $('translation-heads').innerHTML = blocks.flatMap((heads, block) =>
            heads.map((_, head) => this.headButton(block, head))).join('');
        for (const button of $('translation-heads').children)
            drawThumbnail(button.firstElementChild, blocks[button.dataset.block][button.dataset.head]);
        if (focused) $('translation-heads').children[this.block * blocks[0].length + this.head].focus();
        if (!blocks.length) {
            $('translation-picture').innerHTML = '';
            $('translation-sum').textContent = '';
            return;
        }
        const map = this.map();
        tell('translation-sum', POINT_AT_A_WEIGHT, false);
        const label = `${map.title}, ${map.rows} by ${map.cols} weights. Arrow keys go from weight to weight.`;
        showPicture($('translation-picture'), map, label, (r, c) => this.tell(r, c));
    },

    headButton(block, head) {
        const isPressed = block === this.block && head === this.head;
        const attributes = `data-block="${block}" data-head="${head}" aria-pressed="${isPressed}"`;
        return `<button type="button" ${attributes}><canvas></canvas>layer ${block + 1}, head ${head + 1}</button>`;
    },
    map() {
        const m = this.heads()[this.block][this.head], { source, target } = this.result;
        const given = ['<start>', ...target.slice(0, -1)];
        const labels = { cross: [target, source], encoder: [source, source], decoder: [target, given] }[this.part];
        return {
            title: `layer ${this.block + 1}, head ${this.head + 1}`,
            rows: m.rows,
            cols: m.cols,
            values: m.values,
            low: 0,
            high: Math.max(0.01, ...m.values),
            side: 24,
            rowLabels: labels[0].map(withoutSpace),
            colLabels: labels[1].map(withoutSpace),
            rowName: LOOKS[this.part][0],
            colName: LOOKS[this.part][1],
        };
    },

    tell(r, c) {
        const map = this.map(), weight = map.values[r * map.cols + c];
        const looks = `${this.part === 'encoder' ? 'Reading' : 'Writing'} “${map.rowLabels[r]}”`;
        tell('translation-sum', `${looks}, this head gives “${map.colLabels[c]}” ${short(weight)} of its attention.`);
    },

    picture(theme) {
        if (!this.result) return svgDocument('Translation', [], theme);
        const map = svgHeatmap(this.map(), theme);
        return svgDocument(`${this.text} → ${this.result.text}`, [map, this.tree(theme)], theme);
    },

    write(link) {
        link.set('text', this.text);
        link.set('beams', this.beams);
        link.set('part', this.part);
        link.set('layer', this.block + 1);
        link.set('head', this.head + 1);
    },

    read(link) {
        const whole = (name, most, old) => {
            const x = link.has(name) ? wholeNumber(`The link’s “${name}”`, link.get(name), 1, most) : undefined;
            return x === undefined ? old : x;
        };
        const text = link.has('text') ? wellFormed(link.get('text')) : EASY;
        if (text.length > 300) notice('The link’s text is longer than 300 characters: the rest is left out.');
        this.text = text.slice(0, 300);
        this.beams = whole('beams', 8, 4);
        this.part = choice(link, 'part', Object.keys(LOOKS), 'cross');
        this.block = whole('layer', 99, 3) - 1;
        this.head = whole('head', 99, 2) - 1;
    },
};
panels.push(translation);

// A token as a label: without the mark of a space before it.
const withoutSpace = (token) => token.replace(/^▁(?=.)/, '');

// A head without labels, a pixel for each weight.
function drawThumbnail(canvas, m) {
    const high = Math.max(0.01, ...m.values), theme = themeNow();
    canvas.width = m.cols, canvas.height = m.rows;
    const context = canvas.getContext('2d'), image = context.createImageData(m.cols, m.rows);
    m.values.forEach((w, n) => image.data.set([...shade(w / high, theme).rgb, 255], 4 * n));
    context.putImageData(image, 0, 0);
}

// ==== Panel 4: training ==============================================================================================

const training = {
    id: 'training', step: 0, isRunning: false, until: 0, pace: 5, losses: [[], []],

    start() {
        this.last = engine.exports.page_train_steps();
        $('training-run').addEventListener('click', () => this.isRunning ? this.stop() : this.run(this.last));
        $('training-step').addEventListener('click', () => {
            this.stop();
            this.advance(1);
            this.render();
            remember();
        });
        $('training-restart').addEventListener('click', () => {
            this.stop();
            this.restart();
            this.render();
            remember();
        });
        $('training-speed').addEventListener('change', (event) => {
            this.pace = Number(event.target.value);
            remember();
        });
        tell('training-sum', POINT_AT_A_WEIGHT, false);
        this.restart();
    },

    restart() {
        notice('');
        engine.trainBegin();
        this.step = 0;
        this.losses = [[], []];
    },

    advance(count) {
        for (let n = 0; n < count && this.step < this.last; n++) {
            this.step = engine.trainStep(n === count - 1 || this.step === this.last - 1);
            this.losses.forEach((line, known) => line.push(engine.exports.page_train_loss(known)));
        }
    },

    run(until) {
        this.until = until;
        if (this.isRunning) return;
        if (this.step >= this.last) this.restart();
        this.isRunning = true;
        const tick = () => {
            if (!this.isRunning) return;
            this.advance(Math.min(this.pace, this.until - this.step));
            if (this.step >= this.until) this.stop();
            if (shown === this) this.render();
            if (this.isRunning) this.frame = requestAnimationFrame(tick);
        };
        this.frame = requestAnimationFrame(tick);
        this.render();
    },

    stop() {
        cancelAnimationFrame(this.frame);
        this.isRunning = false;
        this.render();
        remember();
    },

    render() {
        const { letters, next, guesses, heads } = engine.trained();
        $('training-run').textContent = this.runName();
        $('training-speed').value = String(this.pace);
        $('training-step').disabled = this.step >= this.last;
        $('training-status').setAttribute('aria-live', this.isRunning ? 'off' : 'polite');
        $('training-status').textContent = this.status(next, guesses);
        this.showChart(themeNow());
        this.renderLetters(letters, next, guesses);
        this.renderHeads(letters, heads);
    },

    // What the button that runs does next.
    runName() {
        if (this.isRunning) return 'Pause';
        if (this.step >= this.last) return 'Once more';
        return this.step ? 'Go on' : 'Start';
    },

    status(next, guesses) {
        const right = guesses.filter((g, i) => g >= 0 && g === next[i]).length;
        const asked = guesses.filter((g) => g >= 0).length;
        const [fresh, repeated] = this.losses.map((line) => line.length ? line[line.length - 1].toFixed(2) : '');
        const loss = this.step ? `Loss of new letters ${fresh}, of repeated ones ${repeated}. ` : '';
        return `Step ${this.step} of ${this.last}. ${loss}${right} of ${asked} guesses are right.`;
    },
    chart(theme, width) {
        return svgLines({
            width,
            title: 'Loss',
            names: ['new letters', 'repeated letters'],
            lines: this.losses,
            xHigh: this.last,
            yHigh: Math.max(4, ...this.losses.flat()),
            xName: 'step',
        }, theme);
    },

    showChart(theme) {
        const last = this.losses.map((line) => line.length ? line[line.length - 1].toFixed(2) : 'none yet');
        const label = `Loss over the steps: new letters ${last[0]}, repeated letters ${last[1]}`;
        const width = Math.min(Math.max($('training-chart').clientWidth - 185, 160), 560);
        $('training-chart').innerHTML = svgElement(this.chart(theme, width), label);
    },

    renderLetters(letters, next, guesses) {
        const name = (n) => n < 0 ? '·' : String.fromCharCode(97 + n);
        const row = (title, numbers, mark = () => '') => {
            const cells = numbers.map((n, i) => `<td class="${mark(n, i)}">${name(n)}</td>`).join('');
            return `<tr><th scope="row">${title}</th>${cells}</tr>`;
        };
        const mark = (n, i) => n < 0 ? '' : n === next[i] ? 'good' : 'bad';
        $('training-letters').innerHTML = row('text', letters) + row('next', next) + row('guess', guesses, mark);
    },

    map({ block, head, weights }, letters) {
        const labels = letters.map((n) => String.fromCharCode(97 + n));
        const isLater = (n) => n % weights.cols > Math.floor(n / weights.cols);
        return {
            title: `layer ${block + 1}, head ${head + 1}`,
            rows: weights.rows,
            cols: weights.cols,
            values: weights.values,
            low: 0,
            high: 1,
            side: 13,
            rowLabels: labels,
            colLabels: labels,
            hidden: Uint8Array.from(weights.values, (_, n) => isLater(n) ? 1 : 0),
        };
    },

    renderHeads(letters, heads) {
        const holder = $('training-heads');
        const figure = '<figure><div class="scroll"></div><figcaption></figcaption></figure>';
        if (!holder.children.length) holder.innerHTML = heads.map(() => figure).join('');
        heads.forEach((h, n) => {
            const [picture, caption] = holder.children[n].children, map = this.map(h, letters);
            const before = h.before.toFixed(2), followed = h.followed.toFixed(2);
            const shares = `of its attention ${before} goes to the letter before, ${followed} to the one that followed`;
            const label = `${map.title}: ${shares}`;
            showPicture(picture, map, label, (r, c) => tell('training-sum', this.explain(map, r, c)));
            caption.innerHTML = `<small>${shares}</small>`;
        });
    },

    explain(map, r, c) {
        const row = `letter ${r + 1}, “${map.rowLabels[r]}”,`, column = `letter ${c + 1}, “${map.colLabels[c]}”,`;
        if (c > r) return `${map.title}: ${row} does not see ${column} which comes later.`;
        const weight = short(map.values[r * map.cols + c], 3);
        return `${map.title}: ${row} gives ${column} ${weight} of its attention.`;
    },

    picture(theme) {
        const { letters, heads } = engine.trained();
        const maps = heads.map((h) => svgHeatmap(this.map(h, letters), theme));
        return svgDocument(`Training, step ${this.step}`, [this.chart(theme, 560), ...maps], theme, 760);
    },

    write(link) {
        link.set('at', this.step);
        link.set('pace', this.pace);
    },

    // A link leads to a step: training goes there.
    read(link) {
        const at = link.has('at') ? wholeNumber('The link’s “at”', link.get('at'), 0, this.last) : undefined;
        this.pace = Number(choice(link, 'pace', ['1', '5', '25'], this.pace));
        if (at === undefined) return;
        if (this.isRunning) this.stop();
        if (at < this.step) this.restart();
        if (at > this.step) this.run(at);
    },
};
panels.push(training);

// ==== The page =======================================================================================================

let shown = null, written = '', waiting = 0;

const fileText = (name) => $(`file-${name}`).textContent.trim();
function fileBytes(name) {
    const text = atob(fileText(name));
    return Uint8Array.from(text, (c) => c.charCodeAt(0));
}

// Which of the two the browser can run: that with vectors, or that without.
function chooseProgram() {
    const vectors = fileBytes('vectors');
    return WebAssembly.validate(vectors) ? vectors : fileBytes('scalar');
}

// The link of what is shown, after a moment without changes. Another panel is another entry of the history.
function remember() {
    clearTimeout(waiting);
    waiting = setTimeout(() => writeLink(), 150);
}

function writeLink(isNew = false) {
    const link = new URLSearchParams();
    clearTimeout(waiting);
    link.set('panel', shown.id);
    shown.write(link);
    if ($('theme').value) link.set('theme', $('theme').value);
    written = `#${link}`;
    if (location.hash === written) return;
    if (isNew) history.pushState(null, '', written);
    else history.replaceState(null, '', written);
}

function readLink() {
    const link = new URLSearchParams(location.hash.slice(1));
    const panel = panels.find((p) => p.id === link.get('panel')) || panels[0];
    if (['light', 'dark'].includes(link.get('theme'))) $('theme').value = link.get('theme');
    setTheme();
    aboutLink = [];
    if (location.hash.length > 1 && panel.id !== link.get('panel'))
        notice('The link names no panel of this page: here is the first one.');
    if (link.has('panel')) attempt(() => panel.read(link));
    show(panel);
    const sentences = aboutLink.join(' ');
    aboutLink = null;
    notice(sentences);
}

function show(panel) {
    shown = panel;
    for (const p of panels) {
        $(p.id).hidden = p !== panel;
        $(`tab-${p.id}`).setAttribute('aria-selected', String(p === panel));
        $(`tab-${p.id}`).tabIndex = p === panel ? 0 : -1;
    }
    panel.render();
    remember();
}

function setTheme() {
    const system = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
    document.documentElement.dataset.theme = $('theme').value || system;
}

function save() {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([shown.picture('light')], { type: 'image/svg+xml' }));
    link.download = `attention-${shown.id}.svg`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

async function share() {
    writeLink();
    try {
        await navigator.clipboard.writeText(location.href);
        notice('The link to this view is in the clipboard.');
    } catch {
        notice('The address of this page is the link to this view.');
    }
}

function startTabs() {
    const choose = (panel) => {
        if (panel === shown) return;
        writeLink();
        notice('');
        show(panel);
        writeLink(true);
    };
    for (const panel of panels) $(`tab-${panel.id}`).addEventListener('click', () => choose(panel));
    $('tabs').addEventListener('keydown', (event) => {
        const n = panels.indexOf(shown), last = panels.length - 1;
        const to = {
            ArrowLeft: (n + last) % panels.length,
            ArrowRight: (n + 1) % panels.length,
            Home: 0,
            End: last,
        }[event.key] ?? n;
        if (to === n) return;
        event.preventDefault();
        choose(panels[to]);
        $(`tab-${panels[to].id}`).focus();
    });
}

function startPage() {
    const paths = [['config', 'config.json'], ['weights', 'model.safetensors'], ['pieces', 'spiece.model']];
    const files = new Map(paths.map(([id, path]) => [`model/${path}`, fileBytes(id)]));
    try {
        engine = new Engine(chooseProgram(), files);
    } catch (error) {
        notice(`This browser cannot run the page: ${error.message}`);
        return;
    }
    setTheme();
    panels.forEach((panel) => panel.start());
    startTabs();
    $('theme').addEventListener('change', () => { setTheme(); shown.render(); remember(); });
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { setTheme(); shown.render(); });
    $('export').addEventListener('click', save);
    $('share').addEventListener('click', share);
    $('about').textContent = `attn.h ${engine.version} computes all of this in your browser, with ` +
        `${engine.instructionSet}. Nothing is sent anywhere.`;
    window.addEventListener('hashchange', () => { if (location.hash !== written) readLink(); });
    readLink();
}

if (typeof document !== 'undefined') startPage();
