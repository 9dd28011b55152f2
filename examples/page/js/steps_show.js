// Panel 1, step by step: what is on the screen, as methods of the panel. This module owns the matrices as tables, their
// texts, the list of steps and the options of two of them; to change a number is for steps.js. It knows all modules
// before it.

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

// Signs between matrices, as elements: there is one of each.
const signs = new Map();
function sign(id, text) {
    if (!signs.has(id)) signs.set(id, document.createElement('span'));
    signs.get(id).className = 'sign';
    signs.get(id).textContent = text;
    return signs.get(id);
}

const turnedOver = (m) => matrix(m.cols, m.rows, range(m.rows * m.cols).map((n) =>
    entry(m, n % m.rows, Math.floor(n / m.rows))));

const STEPS_SHOWN = {
    matrixOf(name) {
        if (name === 'kt') return turnedOver(this.k);
        return GIVEN.includes(name) ? this[name] : this.result[name];
    },

    // The texts of a matrix: as typed, as a notebook prints them, or with so many digits; what is hidden has its own.
    textsOf(name) {
        if (!this.texts[name]) this.texts[name] = this.makeTexts(name);
        return this.texts[name];
    },

    makeTexts(name) {
        const m = this.matrixOf(name), hidden = this.hiddenOf(name);
        const { digits, printed = digits } = PRESETS[this.preset] || {};
        const isPrinted = PRESETS[this.preset] && this.digits === printed;
        const texts = this.typed().includes(name === 'kt' ? 'k' : name) ? Array.from(m.values, plainOwn) :
            isPrinted ? range(m.rows).flatMap((r) => engine.words(this.type, rowOf(m, r), this.digits)) :
                Array.from(m.values, (x) => fixed(x, this.digits));
        return texts.map((text, n) => hidden && hidden[n] ? (name === 'masked' ? '−∞' : '0') : text);
    },

    hiddenOf(name) { return name === 'masked' || name === 'weights' ? this.masks : null; },

    content(name) {
        const m = this.matrixOf(name), numbered = (count) => range(count).map((i) => String(i + 1));
        const isOfKeys = ['k', 'v', 'weighted'].includes(name), isWeight = PROJECTIONS.includes(name) || name === 'kt';
        return {
            ...m,
            name: TITLES[name],
            note: name === 'weighted' ? `of ${this.labels[this.row]}` : '',
            texts: this.textsOf(name),
            digits: Math.min(this.digits, 4),
            scale: name === 'weights' ? WEIGHTS : scaleOf((name === 'masked' ? this.result.scaled : m).values),
            editable: GIVEN.includes(name) || name === 'kt',
            rowLabels: isWeight ? numbered(m.rows) : isOfKeys ? this.keyLabels : this.labels,
            colLabels: OF_SCORES.includes(name) || name === 'kt' ? this.keyLabels : numbered(m.cols),
            hidden: this.hiddenOf(name),
            chosenRow: name === 'weights' && this.shownStage().id === 'weighted' ? this.row : undefined,
            until: this.until(name),
        };
    },

    shownStage() { return STAGES[this.stage]; },

    // The matrices that are not computed.
    typed() { return this.x ? OF_INPUTS : QKV; },

    // What is worth a try here.
    hint() {
        const stage = this.shownStage().id;
        if (this.preset === SENTENCE)
            return 'Nothing here was learned: the numbers of a word are made up from its letters, and the matrices are ' +
                'random. It shows how attention is computed; for a model that learned, see Translation.';
        if (this.preset === '002' && ['weights', 'weighted', 'output'].includes(stage))
            return 'The notebook’s last digits are those of another way to round: 0.99946004 where exact arithmetic, ' +
                'and this page, have 0.99945998.';
        if (stage === 'qkv' && this.x) return 'Change one of them, and it no longer follows x.';
        if (stage === 'qkv' && this.preset === '004') return 'Here all three are the same, the numbers of the words themselves.';
        if (stage === 'scaled' && this.scale === '1') return 'Here nothing is divided yet: choose the square root.';
        if (stage === 'weights' && this.preset === '004')
            return '◀ shows where the scores come from, ▶ what the weights are for.';
        const last = this.q.rows === this.k.rows ? '' : ' The last query stands at the last key.';
        if (stage === 'masked')
            return this.causal ? `Hatched: hidden.${last}` : 'Nothing is hidden yet: choose a mask.';
        if (stage === 'output' && this.causal && this.v.rows > 1)
            return 'Change the last row of V: nothing happens to those who do not see it.';
        return '';
    },

    // What softmax is given.
    beforeSoftmax() { return this.masks.includes(1) ? 'masked' : this.scale === '1' ? 'product' : 'scaled'; },

    // What this stage computes.
    computedHere() {
        return { inputs: [], qkv: this.x ? QKV : [] }[this.shownStage().id] || [this.shownStage().id];
    },

    // The matrices of this stage: a product, { left, above, corner }, or a row of them with what stands between.
    layout() {
        const divisor = this.scale === '' ? `√${this.q.cols}` : short(this.divisor());
        return {
            inputs: { row: OF_INPUTS },
            qkv: this.x ? { left: 'x', above: PROJECTIONS, corner: QKV } : { row: QKV },
            product: { left: 'q', above: ['kt'], corner: ['product'] },
            scaled: { row: ['product', 'scaled'], between: [`÷ ${divisor} =`] },
            masked: { row: ['scaled', 'masked'], between: ['→'] },
            weights: { row: ['weights', this.beforeSoftmax()], between: ['= softmax of'] },
            weighted: { row: ['weights', 'v', 'weighted'], between: ['⊙', '='] },
            output: { left: 'weights', above: ['v'], corner: ['output'] },
        }[this.shownStage().id];
    },

    shownGrids() {
        const { row, left, above, corner } = this.layout();
        return row || [left, ...above, ...corner];
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
        $('steps-title').textContent = `${this.stage + 1 - this.firstStage()}. ${stage.title}`;
        $('steps-what').textContent = stage.what;
        $('steps-text').textContent = `${stage.text} ${this.hint()}`;
        this.renderOptions();
        this.renderPlay();
        this.renderLines();
        $('steps-remark').textContent = this.remark();
        this.renderMatrices();
    },

    newGrid(name) {
        return new Grid({
            look: (r, c) => this.look(name, r, c),
            edit: (r, c, text) => name === 'kt' ? this.edit('k', c, r, text) : this.edit(name, r, c, text),
            choose: (r) => { if (name === 'weights') this.update({ row: r }); },
        });
    },

    renderMatrices() {
        const names = this.shownGrids();
        for (const name of names) {
            if (!this.grids[name]) this.grids[name] = this.newGrid(name);
            this.grids[name].update(this.content(name));
        }
        this.placeMatrices();
        const frame = this.played ? this.played.frames[this.played.n] : {};
        const { name, r, c } = frame.name ? frame : this.looked || {};
        if (names.includes(name)) this.look(name, r, c, frame.terms);
        else this.forget();
    },

    // A product has the left factor at the left, the right one above, and the result in the corner, so that its rows
    // stand beside the rows, and its columns below the columns, that they are made of.
    placeMatrices() {
        const { row, between = [], left, above, corner } = this.layout(), holder = $('steps-matrices');
        const at = (name, area) => {
            const { element } = this.grids[name];
            element.style.gridArea = area;
            return element;
        };
        holder.classList.toggle('product', !row);
        if (row) {
            const signOf = (n) => between[n] ? [sign(n, between[n])] : [];
            placeChildren(holder, row.flatMap((name, n) => [at(name, ''), ...signOf(n)]));
            return;
        }
        const factors = above.map((name, n) => at(name, `1 / ${n + 3}`));
        const results = corner.map((name, n) => at(name, `2 / ${n + 3}`));
        above.forEach((name, n) => {
            const both = [this.grids[name], this.grids[corner[n]]];
            const most = (which) => Math.max(...both.map((grid) => grid.widths[which]));
            for (const grid of both) grid.setWidths({ box: most('box'), head: most('head') });
        });
        const [times, equals] = [sign('times', '×'), sign('equals', '=')];
        placeChildren(holder, [at(left, '2 / 1'), times, ...factors, equals, ...results]);
    },

    // The words at both sides, and a line for each weight.
    renderLines() {
        const isShown = this.shownStage().id === 'weights', until = this.until('weights') ?? Infinity;
        $('steps-lines').hidden = !isShown;
        if (!isShown) {
            $('steps-lines').innerHTML = $('steps-lines').shownLines = '';
            return;
        }
        const { weights } = this.result;
        const hidden = this.masks.map((isHidden, n) => isHidden || n >= until);
        const map = { ...weights, hidden, rowLabels: this.labels, colLabels: this.keyLabels };
        showLines($('steps-lines'), map, (side, i) => {
            const isIn = (r, c) => side === 'from' ? r === i : side === 'to' && c === i;
            if (this.grids.weights) this.grids.weights.mark(isIn);
            if (!side) return;
            const shares = side === 'from' ? this.keyLabels.map((label, c) => [this.shown('weights', i, c), label]) :
                this.labels.map((label, r) => [this.shown('weights', r, i), label]);
            const list = shares.map(([weight, label]) => `${weight} ${side === 'from' ? 'from' : 'to'} ${label}`);
            tell('steps-sum', side === 'from' ? `${this.labels[i]} takes ${list.join(', ')}.` :
                `${this.keyLabels[i]} gives ${list.join(', ')}.`);
        });
    },

    renderStages() {
        if (!$('steps-stages').children.length) {
            const item = (s, n) =>
                `<li><button type="button" data-stage="${n}"><b></b> ${escapeText(s.name)}</button></li>`;
            $('steps-stages').innerHTML = STAGES.map(item).join('');
            $('steps-stages').addEventListener('click', (event) => {
                const button = event.target.closest('button');
                if (button) this.update({ stage: Number(button.dataset.stage) });
            });
        }
        for (const button of $('steps-stages').querySelectorAll('button')) {
            const n = Number(button.dataset.stage);
            button.parentNode.hidden = n < this.firstStage();
            button.firstChild.textContent = n + 1 - this.firstStage();
            if (n === this.stage) {
                button.setAttribute('aria-current', 'step');
                const strip = $('steps-stages'), { offsetLeft, offsetWidth } = button;
                strip.scrollLeft = offsetLeft - strip.offsetLeft + (offsetWidth - strip.clientWidth) / 2;
            } else {
                button.removeAttribute('aria-current');
            }
        }
        $('steps-back').disabled = this.stage === this.firstStage();
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

    look(name, r, c, terms) {
        this.looked = { name, r, c };
        const { text, sources } = name === 'kt' ? this.explain('k', c, r) : this.explain(name, r, c, terms);
        tell('steps-sum', text);
        for (const [other, grid] of Object.entries(this.grids)) grid.mark(sources[other] || (() => false));
        this.grids[name].point(r, c);
    },
};
