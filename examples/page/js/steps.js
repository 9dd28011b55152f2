// Panel 1, step by step: attention as it is computed, from inputs to output, with any number to be changed. This
// module owns the panel's matrices and options, and what follows from a change. It knows all modules before it.

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

// Whether scores can be divided by it, as floats, too.
const isDivisor = (x) =>
    x !== 0 && Number.isFinite(x) && Number.isFinite(Math.fround(1 / x)) && Math.fround(1 / x) !== 0;

// The same matrix, which can be changed without the other.
const copyOf = (m) => m ? matrix(m.rows, m.cols, m.values) : null;

// "1 × 2 + 3 × 4 = 14": a(n) times b(n), for each n.
function sumOfProducts(a, b, count, result) {
    const terms = range(count).map((n) => `${signed(a(n), 8)} × ${signed(b(n), 8)}`);
    return `${terms.join(' + ')} = ${short(result, 8)}`;
}

const steps = {
    ...PANEL, id: 'steps', invitation: POINT_AT_A_NUMBER, sentence: '', stage: 0, row: 0, causal: false,
    grids: {}, newLine: null,

    start() {
        const presets = Object.entries(PRESETS).map(([id, p]) => [id, p.name]);
        $('steps-preset').innerHTML = optionsHtml([...presets, [SENTENCE, 'your sentence'], [OWN, 'your own']]);
        when('change', 'steps-preset', (id) => this.choosePreset(id));
        when('input', 'steps-sentence', (text) => this.setSentence(text));
        when('click', 'steps-back', () => this.go(-1));
        when('click', 'steps-next', () => this.go(1));
        when('change', 'steps-type', (type) => {
            this.type = type;
            this.changed();
        });
        when('change', 'steps-digits', (digits) => {
            this.digits = Number(digits);
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
        this.takePreset('000');
    },

    // The numbers of a preset, a sentence or a link become the panel's.
    take(numbers) {
        for (const name of GIVEN) this[name] = copyOf(numbers[name]);
        for (const name of ['type', 'digits', 'scale', 'labels']) this[name] = numbers[name];
        this.keyLabels = numbers.keyLabels || numbers.labels;
        this.ownScale = false;
        this.changing = '';
        if (!this.x && this.stage === 0) this.stage = 1;
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
            this.stage = 0;
            this.causal = false;
            this.takePreset(id);
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
        for (const name of GIVEN) copy[name] = copyOf(this[name]);
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
        for (const name of OF_INPUTS) this[name] = null;
        notice(`${why} ${NUMBERS_ARE_OWN}`, () => this.restore(before));
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
        this.row = Math.min(this.row, lq - 1);
        this.stage = Math.max(this.stage, 1);
        this.preset = OWN;
        this.changed();
    },

    edit(name, r, c, text, done) {
        const m = this[name], x = parseNumber(text), where = `Row ${r + 1}, column ${c + 1} of ${TITLES[name]}`;
        if (x === undefined) {
            const old = short(entry(m, r, c), 8);
            notice(text.trim() === '' ? `${where} is empty; it stays ${old}.` :
                `“${text}” is no number. ${where} stays ${old}.`);
            return;
        }
        if (this.changing !== where) notice(''); // while a number is typed, what can be undone stays so
        if (Object.is(entry(m, r, c), x)) return;
        this.changing = where;
        if (QKV.includes(name)) this.leaveInputs(`You changed ${TITLES[name]}:`);
        this[name].values[r * m.cols + c] = x;
        this.preset = OWN;
        this.changed();
    },

    go(by) {
        const first = this.x ? 0 : 1;
        this.stage = clamp(this.stage + by, first, STAGES.length - 1);
        this.changed();
        if ($('steps-next').disabled || $('steps-back').disabled) $('steps-title').focus({ preventScroll: true });
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
        const editable = GIVEN.includes(name);
        const m = editable ? this[name] : this.result[name];
        const isScore = ['product', 'scaled', 'masked', 'weights'].includes(name);
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
            texts: this.texts(m, this.typed().includes(name)).map((text, n) => hidden && hidden[n] ? hiddenText : text),
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

    // The matrices that are not computed.
    typed() { return this.x ? OF_INPUTS : QKV; },

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
            inputs: OF_INPUTS,
            qkv: this.x ? GIVEN : QKV,
            product: ['q', 'k', 'product'],
            scaled: ['product', 'scaled'],
            masked: ['scaled', 'masked'],
            weights: ['masked', 'weights'],
            weighted: ['weights', 'v', 'weighted'],
            output: ['weights', 'v', 'output'],
        }[this.shownStage().id];
    },

    render() {
        if (!this.computes()) return;
        const stage = this.shownStage();
        $('steps-preset').value = this.preset;
        setField('steps-sentence', this.preset === SENTENCE ? this.sentence : '');
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
        setField('steps-divisor', this.scale);
    },

    startScaleOptions() {
        when('change', 'steps-scale', (scale) => this.setScale(scale === 'own' ? '2' : scale, scale === 'own'));
        when('input', 'steps-divisor', (text) => this.setScale(text, true));
    },

    startMaskOptions() {
        when('change', 'steps-mask', (mask) => {
            this.causal = mask === 'causal';
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
        const top = Math.max(...seen), weight = short(entry(weights, r, c), 8);
        const pair = `weight that ${this.labels[r]} gives ${this.keyLabels[c]}: `;
        if (seen.length === 0) return `${pair}0, for it sees no key`;
        if (scores[c] === -Infinity) return `${pair}exp(−∞) = 0, whatever the others are`;
        if (!Number.isFinite(top)) return `${pair}${weight}, for a score of its row is NaN or +∞`;
        const exps = seen.map((s) => Math.exp(s - top)), power = (s) => `exp(${short(s, 6)} − ${signed(top, 6)})`;
        const sum = short(total(exps), 8);
        return `${pair}${power(scores[c])} ÷ (${seen.map(power).join(' + ')}) = ` +
            `${short(Math.exp(scores[c] - top), 8)} ÷ ${sum} = ${weight}`;
    },

    // ---- saving and links ----

    picture(theme) {
        const parts = this.shownGrids().map((name) => svgMatrix(this.content(name), theme));
        const mask = this.causal ? ', causal mask' : '';
        return svgDocument(`Attention: ${this.shownStage().title}${mask}`, parts, theme);
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
        const preset = link.get('numbers') || '000', stage = STAGES.findIndex((s) => s.id === link.get('step'));
        const divisor = parseNumber(link.get('divisor') || '');
        this.looked = null;
        this.ownScale = false;
        this.causal = choice(link, 'mask', ['causal'], '') === 'causal';
        choice(link, 'step', STAGES.map((s) => s.id));
        this.stage = Math.max(stage, 0);
        if (Object.hasOwn(PRESETS, preset)) {
            this.takePreset(preset);
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
        const m = {}, names = link.get('x') ? OF_INPUTS : QKV;
        for (const name of names) m[name] = readMatrix(link.get(name) || '', MOST_ROWS, MOST_COLS);
        if (!this.fit(m, names)) {
            notice('The matrices of the link do not fit together; here are those of notebook 000.');
            this.takePreset('000');
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

panels.push(steps);
