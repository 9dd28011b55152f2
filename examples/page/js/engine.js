// The engine: page.c, compiled to WebAssembly, and the system calls that it asks of its host. Every number on the page
// is computed here. This module owns the program's memory, and how arrays go in and come out. It knows numbers.js.

const TYPES = { f32: 0, f64: 1 }; // attn_dtype
const CACHE_TYPES = { f32: 0, f16: 2, i8: 5 };

// What page.c needs of an operating system: files, by the calls of WASI. `files` has the bytes of each path, and gets
// those of what is written.
function systemCalls(files, memory) {
    const OK = 0, BAD_DESCRIPTOR = 8, NO_ENTRY = 44, NOT_SUPPORTED = 58, ROOT = 3;
    const open = new Map();
    const view = () => new DataView(memory().buffer);
    const text = (at, size) => new TextDecoder().decode(new Uint8Array(memory().buffer, at, size));
    let next = ROOT + 1;

    // Calls use(place, size) for each of a list of buffers. It returns how many bytes it used; their sum goes to `at`.
    const eachBuffer = (list, count, at, use) => {
        let sum = 0;
        for (let i = 0; i < count; i++)
            sum += use(view().getUint32(list + 8 * i, true), view().getUint32(list + 8 * i + 4, true));
        view().setUint32(at, sum, true);
        return OK;
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
            const name = text(path, size), bytes = create & 1 ? new Uint8Array() : files.get(name);
            if (!bytes) return NO_ENTRY;
            files.set(name, bytes);
            open.set(next, { name, bytes, at: 0, parts: create & 1 ? [] : null });
            view().setUint32(at, next++, true);
            return OK;
        },
        fd_read(fd, list, count, at) {
            const file = open.get(fd);
            if (!file) return BAD_DESCRIPTOR;
            return eachBuffer(list, count, at, (place, room) => {
                const part = file.bytes.subarray(file.at, file.at + room);
                new Uint8Array(memory().buffer).set(part, place);
                file.at += part.length;
                return part.length;
            });
        },
        fd_seek(fd, offset, whence, at) {
            const file = open.get(fd);
            if (!file) return NOT_SUPPORTED;
            file.at = Math.max(0, Number(offset) + [0, file.at, file.bytes.length][whence]);
            view().setBigUint64(at, BigInt(file.at), true);
            return OK;
        },
        fd_write: (fd, list, count, at) => eachBuffer(list, count, at, (place, size) => {
            const file = open.get(fd); // none: the terminal, which nobody reads
            if (file) file.parts.push(new Uint8Array(memory().buffer, place, size).slice());
            return size;
        }),
        fd_close(fd) {
            const file = open.get(fd);
            if (!file) return BAD_DESCRIPTOR;
            if (file.parts) files.set(file.name, joined(file.parts));
            open.delete(fd);
            return OK;
        },
        path_filestat_get: () => NO_ENTRY,
        path_remove_directory: () => NOT_SUPPORTED,
        path_rename(fd, from, fromSize, newFd, to, toSize) {
            files.set(text(to, toSize), files.get(text(from, fromSize)));
            files.delete(text(from, fromSize));
            return OK;
        },
        path_unlink_file(fd, path, size) { return files.delete(text(path, size)) ? OK : NO_ENTRY; },
        proc_exit(status) { throw new Error(`the program ended with status ${status}`); },
    };
}

function joined(parts) {
    const all = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
    parts.reduce((at, part) => (all.set(part, at), at + part.length), 0);
    return all;
}

const MOST_TOKENS = 100; // of a translation
const PARTS = ['encoder', 'decoder', 'cross']; // t5_part
const SHOW = { blue: 2, signed: 4, hidden: 1, framed: 2 }; // show_colours, show_marks

class Engine {
    // wasm: bytes of the compiled page.c. files: those of a model, by path.
    constructor(wasm, files) {
        this.files = files;
        const calls = systemCalls(files, () => this.exports.memory);
        const module = new WebAssembly.Module(wasm);
        this.exports = new WebAssembly.Instance(module, { wasi_snapshot_preview1: calls }).exports;
        this.exports._initialize();
    }

    text(at) {
        const bytes = new Uint8Array(this.exports.memory.buffer, at);
        return new TextDecoder().decode(bytes.slice(0, bytes.indexOf(0)));
    }

    get version() { return this.text(this.exports.page_version()); }
    get instructionSet() { return this.text(this.exports.page_isa()); }

    // Runs use({ put, room, get, read, say, list }): put copies an array into the engine's memory and returns its place,
    // room does so with zeros, say with a text (or nothing, NULL), list with texts; get copies numbers out, and read a
    // matrix. What was put is given back at the end.
    lend(use) {
        const held = [];
        const put = (array) => {
            const at = this.exports.page_memory(array.byteLength);
            if (!at) throw new Error('There is no memory left.');
            held.push(at);
            new array.constructor(this.exports.memory.buffer, at, array.length).set(array);
            return at;
        };
        const room = (count) => put(new Float64Array(count));
        const get = (at, count, type = Float64Array) => new type(this.exports.memory.buffer, at, count).slice();
        const read = (at, rows, cols) => matrix(rows, cols, get(at, rows * cols));
        const say = (text) => text ? put(new TextEncoder().encode(`${text}\0`)) : 0;
        const list = (texts) => put(Uint32Array.from(texts, say));
        try {
            return use({ put, room, get, read, say, list });
        } finally {
            held.forEach((at) => this.exports.page_free(at));
        }
    }

    // A call of page.c that returns 0, or else has left a message.
    check(failed) {
        if (failed) throw new Error(this.text(this.exports.page_message()));
    }

    matmul(type, a, b) {
        return this.lend(({ put, room, read }) => {
            const out = room(a.rows * b.cols), left = put(a.values), right = put(b.values);
            this.check(this.exports.page_matmul(TYPES[type], out, left, right, a.rows, a.cols, b.cols));
            return read(out, a.rows, b.cols);
        });
    }

    // Attention step by step. hidden: Lq x Lk, 1 where a key is hidden; row: the query of the weighted values.
    steps(type, q, k, v, scale, hidden, row) {
        const pairs = [q.rows, k.rows], sizes = [pairs, pairs, pairs, pairs, [k.rows, v.cols], [q.rows, v.cols]];
        return this.lend(({ put, room, read }) => {
            const out = sizes.map(([rows, cols]) => room(rows * cols));
            this.check(this.exports.page_steps(TYPES[type], q.rows, k.rows, q.cols, v.cols,
                put(q.values), put(k.values), put(v.values), scale, put(hidden), row, ...out));
            const [product, scaled, masked, weights, weighted, output] = sizes.map((size, n) => read(out[n], ...size));
            return { product, scaled, masked, weights, weighted, output };
        });
    }

    // The numbers of a row as numpy prints them.
    words(type, numbers, digits) {
        return this.lend(({ put }) => {
            const at = this.exports.page_text(TYPES[type], put(Float64Array.from(numbers)), numbers.length, digits);
            return this.text(at).split('\n').slice(0, numbers.length).map(plainNumber);
        });
    }

    random(count, seed, low, high) {
        return this.lend(({ room, get }) => {
            const at = room(count);
            this.exports.page_random(at, count, seed, low, high);
            return get(at, count);
        });
    }

    // ---- pictures: SVG by show.h ----

    drawn() {
        const svg = new TextDecoder().decode(this.files.get('picture.svg'));
        this.files.delete('picture.svg');
        return svg;
    }

    // Maps under a title, so many across: each { name, rows, cols, values, hidden, framed, scale, digits, side, sign,
    // rowName, colName, rowLabels, colLabels, frame }.
    picture(title, maps, across = 1) {
        return this.lend(({ put, say, list }) => {
            this.exports.page_picture_begin();
            for (const map of maps) {
                const { rows, cols, hidden, framed = () => false, digits = 2, side = 0 } = map;
                const { ramp, low, high } = map.scale, isOfWeights = ramp === 'weights';
                const colours = isOfWeights ? SHOW.blue : SHOW.signed;
                const marks = Uint8Array.from(map.values, (_, n) => (hidden && hidden[n] ? SHOW.hidden : 0) |
                    (framed(Math.floor(n / cols), n % cols) ? SHOW.framed : 0));
                this.check(this.exports.page_map(put(Float64Array.from(map.values)), put(marks), rows, cols,
                    put(Float64Array.of(colours, digits, low, high, side, isOfWeights)),
                    list([map.name, map.rowName, map.colName, map.sign, map.frame]), list(map.rowLabels),
                    list(map.colLabels)));
            }
            this.exports.page_picture(say(title), across);
            return this.drawn();
        });
    }

    // Lines, arrays of numbers of one length: { title, xName, yName, names, lines, xLow, xHigh }.
    lines(chart) {
        return this.lend(({ put, list }) => {
            const { lines } = chart, values = put(Float64Array.from(lines.flat()));
            this.exports.page_lines(values, lines.length, lines[0].length, list([chart.title, chart.xName, chart.yName]),
                list(chart.names), chart.xLow, chart.xHigh);
            return this.drawn();
        });
    }

    // attn_sdpa of one head. options: numbers in the order of MASKING, NaN where one is off.
    attend(options, q, k, v) {
        const Lq = q.rows, Lk = k.rows, TEXT = 2048;
        return this.lend(({ put, room, get, read }) => {
            const [weights, ...stages] = range(4).map(() => room(Lq * Lk)), lse = room(Lq);
            const output = room(Lq * v.cols), explain = put(new Uint8Array(TEXT));
            this.check(this.exports.page_attend(put(Float64Array.from(options)), Lq, Lk, q.cols, v.cols, put(q.values),
                put(k.values), put(v.values), put(Uint32Array.from(stages)), weights, lse, output, explain, TEXT));
            const [scaled, capped, final] = stages.map((at) => read(at, Lq, Lk));
            return { scaled, capped, final, weights: read(weights, Lq, Lk), lse: get(lse, Lq),
                output: read(output, Lq, v.cols), explain: this.text(explain) };
        });
    }

    // Opens a model: a directory or a GGUF of the files.
    open(path) {
        this.lend(({ say }) => this.check(this.exports.page_open(say(path))));
        const [encoder, decoder, heads] = range(3).map((which) => this.exports.page_sizes(which));
        this.sizes = { encoder, decoder, cross: decoder, heads };
    }

    // The translation of a text, its tokens, the search, and attention.encoder, .decoder, .cross: [block][head],
    // matrices. changes: what becomes of each head, [part][block][head] of CHANGES, or null.
    translate(text, beams, changes = null) {
        if (!this.sizes) this.open('model');
        const bytes = new TextEncoder().encode(text);
        return this.lend(({ put, get }) => {
            const changed = changes ? put(Uint8Array.from(changes)) : 0;
            this.check(this.exports.page_translate(put(bytes), bytes.length, beams, MOST_TOKENS, changed));
            const reply = JSON.parse(this.text(this.exports.page_reply()));
            const source = reply.source.length, target = reply.target.length;
            const heads = (part, rows, cols) => range(this.sizes[PARTS[part]]).map((block) => {
                const at = this.exports.page_attention(part, block), { heads } = this.sizes;
                if (!at) throw new Error('There is no memory left.');
                const all = get(at, heads * rows * cols, Float32Array);
                return range(heads).map((head) =>
                    matrix(rows, cols, all.subarray(head * rows * cols, (head + 1) * rows * cols)));
            });
            reply.attention = { encoder: heads(0, source, source), decoder: heads(1, target, target),
                cross: heads(2, target, source) };
            return reply;
        });
    }

    // ---- token by token ----

    // A causal head over the rows of x, without a cache and with one: keys, values, output and weights of each; and the
    // bytes of a token in the cache. projections: of queries, keys and values.
    cached(type, x, projections) {
        const size = [x.rows, x.cols], sizes = { keys: size, values: size, output: size, weights: [x.rows, x.rows] };
        return this.lend(({ put, room, read }) => {
            const places = range(2).map(() => Object.values(sizes).map(([rows, cols]) => room(rows * cols)));
            const weights = put(Uint32Array.from(projections, (m) => put(m.values)));
            this.check(this.exports.page_cached(CACHE_TYPES[type], ...size, put(x.values), weights,
                put(Uint32Array.from(places.flat()))));
            const [without, cached] = places.map((at) => Object.fromEntries(
                Object.entries(sizes).map(([name, [rows, cols]], n) => [name, read(at[n], rows, cols)])));
            return { without, cached, bytes: this.exports.page_cache_bytes(CACHE_TYPES[type], x.cols) };
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
            rows: length, cols: length, values: Float32Array.from(
                new Float64Array(buffer, this.exports.page_train_looks(block, head), length * length)),
            before: this.exports.page_train_share(block, head, 0),
            followed: this.exports.page_train_share(block, head, 1) }));
        return { letters: integers(this.exports.page_train_letters()), next: integers(this.exports.page_train_next()),
            guesses: integers(this.exports.page_train_guesses()), heads };
    }
}

// The one that the page computes with; page.js makes it.
let engine;
