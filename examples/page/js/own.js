// Panel 3, translation: a T5 of the reader's own in the place of the small one. This module owns the files that were
// given, what is said of them before they run, and the engine that they run in, which goes with them. It knows all
// modules before it but those of other panels.

const MEMORY = 4e9; // bytes that a program of wasm32 can have
const OF_A_MODEL =
    /^((generation_)?config\.json|.*\.safetensors(\.index\.json)?|spiece\.model|tokenizer\.json|.*\.gguf)$/;

const own = {
    files: [], ask: 0,

    start(program) {
        this.program = program;
        $('own-files').addEventListener('change', (event) => this.take(event.target.files));
        when('click', 'own-use', () => this.use());
        when('click', 'own-back', () => this.leave());
        for (const type of ['dragover', 'dragleave', 'drop'])
            window.addEventListener(type, (event) => { // anywhere: or else the browser leaves the page for the file
                if (!event.dataTransfer?.types.includes('Files')) return;
                event.preventDefault();
                $('translation').classList.toggle('dragged', type === 'dragover');
                if (type === 'drop' && shown === translation) this.take(event.dataTransfer.files);
            });
    },

    say(text) { $('own-says').textContent = text; },

    // What there is, how large it is, and about how long a sentence takes.
    take(files) {
        if (!files.length) return;
        this.ask++; // what is being read is wanted no longer
        this.files = Array.from(files).filter((file) => OF_A_MODEL.test(file.name));
        const others = Array.from(files).filter((file) => !this.files.includes(file)).map((file) => file.name);
        const left = others.length ? ` Left out: ${listed(others)}.` : '';
        const size = total(this.files.map((file) => file.size)), wrong = this.missing(size);
        $('own').open = true;
        $('own-use').hidden = Boolean(wrong);
        const names = `${listed(this.files.map((file) => file.name))}, ${this.megabytes(size)} MB`;
        this.say((wrong || `${names}. A sentence takes about ${this.seconds(size)} s here.`) + left);
    },

    megabytes: (bytes) => short(bytes / 1e6, bytes < 1e8 ? 2 : 4),

    // Why these files are no model that can run: '' if they may be.
    missing(size) {
        const has = (pattern) => this.files.some((file) => pattern.test(file.name)), gguf = has(/\.gguf$/);
        if (!this.files.length) return 'None of these files is one of a T5.';
        const twice = this.files.find((file, n) => this.files.findIndex(({ name }) => name === file.name) < n);
        const empty = this.files.find((file) => file.size === 0);
        if (twice) return `${twice.name} is there twice.`;
        if (empty) return `${empty.name} is empty.`;
        if (gguf && this.files.length > 1) return 'A GGUF stands for itself: choose it alone.';
        if (!gguf && !has(/^config\.json$/)) return 'config.json is missing.';
        if (!gguf && !has(/\.safetensors$/)) return 'model.safetensors is missing.';
        if (!gguf && !has(/^(spiece\.model|tokenizer\.json)$/)) return 'spiece.model or tokenizer.json is missing.';
        if (2 * size > MEMORY)
            return `These files have ${this.megabytes(size)} MB, and need at least twice that while they are read: a ` +
                `page has ${this.megabytes(MEMORY)} MB at most.`;
        return '';
    },

    // The time of some 40 tokens, each of which takes every weight of 2 bytes once, from that of a product here.
    seconds(size) {
        const side = 64, rounds = 20, m = matrix(side, side, new Float64Array(side * side));
        const times = range(8).map(() => { // the first of which the browser still compiles
            const begin = performance.now();
            for (let n = 0; n < rounds; n++) engine.matmul('f32', m, m);
            return (performance.now() - begin) / 1000;
        });
        return short(Math.max(0.1, 40 * size / 2 * Math.min(...times) / (rounds * side ** 3)), 1);
    },

    // Reads the files and opens the model in an engine of its own; what was there stays where that fails.
    async use() {
        const mine = ++this.ask, { files } = this;
        const size = total(files.map((file) => file.size));
        this.say(`Reading ${this.megabytes(size)} MB …`);
        try {
            const paths = files.map((file) => file.name.endsWith('.gguf') ? 'model.gguf' : `model/${file.name}`);
            const bytes = await Promise.all(files.map(async (file) => new Uint8Array(await file.arrayBuffer())));
            if (mine !== this.ask) return;
            const begin = performance.now(), given = new Map(paths.map((path, n) => [path, bytes[n]]));
            const other = new Engine(this.program, given);
            other.open(paths[0].endsWith('.gguf') ? paths[0] : 'model');
            other.files.clear(); // the engine has its own copy
            const seconds = short((performance.now() - begin) / 1000, 2);
            translation.use({ engine: other });
            const { encoder, decoder, heads } = other.sizes;
            this.say(`Your model translates: ${encoder} layers read, ${decoder} write, with ${heads} heads each; ` +
                `opened in ${seconds} s.`);
            $('own-back').hidden = false;
        } catch (error) {
            if (mine !== this.ask) return;
            const isFull = /memory|alloc/i.test(error.message) || error instanceof RangeError;
            this.say(isFull ? `These ${this.megabytes(size)} MB do not fit into this page’s memory.` :
                `This model cannot be used: ${error.message}`);
        }
    },

    leave() {
        this.ask++;
        translation.use(null);
        $('own-back').hidden = true;
        this.say('The small model translates again.');
    },
};
