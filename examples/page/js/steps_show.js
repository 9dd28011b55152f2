// Panel 1, step by step: what is on the screen, as methods of the panel. This module owns the matrices as tables, their
// texts, the list of steps and the options of two of them; to change a number is for steps.js. It knows all modules
// before it but steps_sums.js.

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

const STEPS_SHOWN = {
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
        const isWeight = PROJECTIONS.includes(name), isOfKeys = ['k', 'v', 'weighted'].includes(name);
        return {
            ...m,
            name: TITLES[name],
            note: this.note(name),
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
            edit: (r, c, text) => this.edit(name, r, c, text),
            choose: (r) => { if (name === 'weights') this.update({ row: r }); },
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
        const { name, r, c } = this.looked || {};
        if (names.includes(name)) this.look(name, r, c);
        else this.forget();
    },

    renderStages() {
        if (!$('steps-stages').children.length) {
            const item = (s, n) =>
                `<li><button type="button" data-stage="${n}">${n + 1} ${escapeText(s.name)}</button></li>`;
            $('steps-stages').innerHTML = STAGES.map(item).join('');
            $('steps-stages').addEventListener('click', (event) => {
                const { stage } = event.target.dataset;
                if (stage) this.update({ stage: Number(stage) });
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
            if (stage === 'masked') when('change', 'steps-mask', (mask) => this.update({ causal: mask === 'causal' }));
            if (stage === 'scaled') {
                when('change', 'steps-scale', (scale) => this.setScale(scale === 'own' ? '2' : scale, scale === 'own'));
                when('input', 'steps-divisor', (text) => this.setScale(text, true));
            }
        }
        if (stage === 'masked') $('steps-mask').value = this.causal ? 'causal' : '';
        if (stage !== 'scaled') return;
        const own = this.scale !== '' && (this.scale !== '1' || this.ownScale);
        $('steps-scale').value = own ? 'own' : this.scale;
        $('steps-divisor-label').hidden = !own;
        setField('steps-divisor', this.scale);
    },

    look(name, r, c) {
        this.looked = { name, r, c };
        const { text, sources } = this.explain(name, r, c);
        tell('steps-sum', text);
        for (const [other, grid] of Object.entries(this.grids)) grid.mark(sources[other] || (() => false));
        this.grids[name].point(r, c);
    },
};
