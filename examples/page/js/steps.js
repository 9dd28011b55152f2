// Panel 1, step by step: attention from inputs to output, with any number to be changed. This module owns the panel's
// matrices and options, what follows from a change, and the panel's link. It knows all modules before it.

// Whether scores can be divided by it, as floats, too.
const isDivisor = (x) =>
    x !== 0 && Number.isFinite(x) && Number.isFinite(Math.fround(1 / x)) && Math.fround(1 / x) !== 0;

const stageOf = (id) => STAGES.findIndex((stage) => stage.id === id);

// The same matrix, which can be changed without the other.
const copyOf = (m) => m ? matrix(m.rows, m.cols, m.values) : null;

const steps = {
    ...PANEL, ...STEPS_SHOWN, ...STEPS_SUMS, ...STEPS_PLAY, id: 'steps', sentence: '', stage: 0, row: 0, causal: false,
    grids: {}, texts: {},
    invitation: 'Point at a number, or go to it with the arrow keys: here is the sum that it came from.',

    start() {
        const presets = Object.entries(PRESETS).map(([id, p]) => [id, p.name]);
        $('steps-preset').innerHTML = optionsHtml([...presets, [SENTENCE, 'your sentence'], [OWN, 'your own']]);
        when('change', 'steps-preset', (id) => this.choosePreset(id));
        when('input', 'steps-sentence', (text) => this.setSentence(text));
        when('click', 'steps-back', () => this.go(-1));
        when('click', 'steps-next', () => this.go(1));
        when('change', 'steps-type', (type) => this.update({ type }));
        when('change', 'steps-digits', (digits) => this.update({ digits: Number(digits) }));
        for (const [size, most] of [['lq', MOST_ROWS], ['lk', MOST_ROWS], ['d', MOST_COLS], ['dv', MOST_COLS]])
            $(`steps-${size}`).addEventListener('change', (event) => {
                const count = wholeNumber(event.target.parentNode.textContent.trim(), event.target.value, 1, most);
                if (count !== undefined) this.resize(size, count);
                this.render();
            });
        this.startPlay();
        this.begin();
    },

    begin() {
        this.stage = stageOf(FIRST.stage);
        this.takePreset(FIRST.preset);
    },

    // The first stage that there is.
    firstStage() { return this.x ? 0 : 1; },

    changed() {
        this.leavePlay();
        PANEL.changed.call(this);
    },

    // The numbers of a preset, a sentence or a link become the panel's.
    take(numbers) {
        for (const name of GIVEN) this[name] = copyOf(numbers[name]);
        for (const name of ['type', 'digits', 'scale', 'labels']) this[name] = numbers[name];
        this.keyLabels = numbers.keyLabels || numbers.labels;
        this.ownScale = false;
        this.changing = '';
        this.stage = Math.max(this.stage, this.firstStage());
        this.row = 0;
    },

    takePreset(id) {
        this.preset = id;
        this.take(PRESETS[id]);
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
            this.causal = false;
            this.takePreset(id);
        }
        this.changed();
    },

    setSentence(text) {
        const words = wordsOf(text, MOST_ROWS);
        if (!words) return;
        this.sentence = text;
        this.preset = SENTENCE;
        this.take(numbersOfSentence(words));
        this.changed();
    },

    // Q, K and V are no longer those of the inputs, but all numbers can be had back as they are.
    leaveInputs(why) {
        if (!this.x) return;
        const { preset, row, labels, keyLabels } = this, before = { preset, row, labels, keyLabels };
        for (const name of GIVEN) before[name] = copyOf(this[name]);
        for (const name of OF_INPUTS) this[name] = null;
        const now = 'Q, K and V are now numbers of your own, and no longer computed from x.';
        notice(`${why} ${now}`, () => this.update(before));
    },

    resize(size, count) {
        this.leaveInputs('Another size:');
        const fit = (m, rows, cols) => matrix(rows, cols, range(rows * cols).map((n) => {
            const r = Math.floor(n / cols), c = n % cols;
            return r < m.rows && c < m.cols ? entry(m, r, c) : (3 * r + 5 * c + 1) % 4;
        }));
        const labels = (old, rows, name) => {
            const known = /^(.*) 1$/.exec(old[0]);
            return range(rows).map((i) => old[i] || `${known ? known[1] : name} ${i + 1}`);
        };
        const lq = size === 'lq' ? count : this.q.rows, lk = size === 'lk' ? count : this.k.rows;
        const d = size === 'd' ? count : this.q.cols, dv = size === 'dv' ? count : this.v.cols;
        this.q = fit(this.q, lq, d), this.k = fit(this.k, lk, d), this.v = fit(this.v, lk, dv);
        this.labels = labels(this.labels, lq, 'query'), this.keyLabels = labels(this.keyLabels, lk, 'key');
        this.update({ row: Math.min(this.row, lq - 1), stage: Math.max(this.stage, 1), preset: OWN });
    },

    edit(name, r, c, text) {
        const m = this[name], x = parseNumber(text), where = `Row ${r + 1}, column ${c + 1} of ${TITLES[name]}`;
        if (x === undefined) {
            const old = short(entry(m, r, c), 8);
            this.changing = '';
            notice(text.trim() === '' ? `${where} is empty; it stays ${old}.` :
                `“${text}” is no number. ${where} stays ${old}.`);
            return;
        }
        if (this.changing !== where) notice(''); // while a number is typed, what can be undone stays so
        if (Object.is(entry(m, r, c), x)) return;
        this.changing = where;
        if (QKV.includes(name)) this.leaveInputs(`You changed ${TITLES[name]}:`);
        m.values[r * m.cols + c] = x;
        this.update({ preset: OWN });
    },

    go(by) {
        this.update({ stage: clamp(this.stage + by, this.firstStage(), STAGES.length - 1) });
        if ($('steps-next').disabled || $('steps-back').disabled) $('steps-title').focus({ preventScroll: true });
    },

    setScale(text, own) {
        const x = text === '' && !own ? 1 : parseNumber(text);
        if (!isDivisor(x)) {
            notice(`Scores cannot be divided by “${text}”: they are still divided by ${short(this.divisor())}.`);
            return;
        }
        notice('');
        this.update({ ownScale: own, scale: text === '' ? '' : String(x) });
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
        this.texts = {};
    },

    // Why there are NaNs or infinities, from what was typed; '' if nothing that was typed is the cause.
    cause() {
        const names = GIVEN.filter((name) => this[name]);
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

    // ---- saving and links ----

    picture() {
        const { row, between = [], left, above, corner } = this.layout(), mask = this.causal && this.stage >= stageOf('masked') ? ', causal mask' : '';
        const order = row || above.flatMap((name, n) => [left, name, corner[n]]);
        const signs = row ? ['', ...between] : above.flatMap(() => ['', '×', '=']);
        const maps = order.map((name, n) => ({ ...this.content(name), sign: signs[n] }));
        return engine.picture(`Attention: ${this.shownStage().title}${mask}`, maps, row ? row.length : 3);
    },

    write(link) {
        link.set('numbers', this.preset);
        link.set('step', this.shownStage().id);
        if (this.preset === SENTENCE) link.set('sentence', this.sentence);
        if (this.preset === OWN) {
            for (const name of this.typed()) link.set(name, writeMatrix(this[name]));
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
        const preset = link.get('numbers') || FIRST.preset;
        const divisor = parseNumber(link.get('divisor') || '');
        this.leavePlay();
        this.looked = null;
        this.ownScale = false;
        this.causal = choice(link, 'mask', ['causal'], '') === 'causal';
        this.stage = stageOf(choice(link, 'step', STAGES.map((s) => s.id), FIRST.stage));
        if (Object.hasOwn(PRESETS, preset)) {
            this.takePreset(preset);
        } else if (preset === SENTENCE && (link.get('sentence') || '').trim()) {
            this.setSentence(link.get('sentence').slice(0, 200));
        } else if (preset === OWN) {
            this.readOwn(link);
        } else {
            notice('The link names numbers that there are not; here are six words.');
            this.begin();
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
        const query = parseNumber(link.get('query') || '');
        this.row = Number.isInteger(query) && query >= 1 && query <= (this.x || this.q).rows ? query - 1 : 0;
    },

    readOwn(link) {
        const m = {}, names = link.get('x') ? OF_INPUTS : QKV;
        for (const name of names) m[name] = readMatrix(link.get(name) || '', MOST_ROWS, MOST_COLS);
        if (!this.fit(m, names)) {
            notice('The matrices of the link do not fit together; here are six words.');
            this.takePreset(FIRST.preset);
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
            digits: 2,
            scale: '',
            labels: labels(link.get('labels'), (m.x || m.q).rows, m.x ? 'input' : 'query'),
            keyLabels: labels(link.get('keys'), (m.x || m.k).rows, m.x ? 'input' : 'key'),
        });
    },

    // Whether all of these matrices are there, and can be multiplied with each other.
    fit(m, names) {
        if (!names.every((name) => m[name])) return false;
        if (!m.x) return m.q.cols === m.k.cols && m.k.rows === m.v.rows;
        return PROJECTIONS.every((w) => m[w].rows === m.x.cols) && m.wq.cols === m.wk.cols;
    },
};

panels.push(steps);
