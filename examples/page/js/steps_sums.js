// Panel 1, step by step: the sum behind a number, as methods of the panel. This module owns the sentences that say how
// a number came about, in the digits that are shown, and which cells of other matrices are marked for it. It knows
// numbers.js and steps_presets.js.

const inBrackets = (text) => text.startsWith('−') ? `(${text})` : text;

const STEPS_SUMS = {
    // How a number came about: { text, sources, terms }. sources[name](i, j): whether that cell of a matrix is in the
    // sum; terms: how many it has. until: only so many of them, the newest of which is marked.
    explain(name, r, c, until) {
        const fromInputs = { q: 'wq', k: 'wk', v: 'wv' }[name];
        if (fromInputs && this.x) return this.explainProjection(name, fromInputs, r, c, until);
        if (this[name]) return this.explainTyped(name, r, c);
        if (name === 'product') return this.explainScore(r, c, until);
        if (name === 'scaled') return this.explainScaled(r, c);
        if (name === 'masked') return this.explainMasked(r, c);
        if (name === 'weights') {
            const before = this.beforeSoftmax(), isShown = this.shownStage().id === 'weights';
            return { text: this.explainWeight(before, r, c), sources: isShown ? { [before]: (i) => i === r } : {} };
        }
        return name === 'weighted' ? this.explainWeighted(r, c) : this.explainOutput(r, c, until);
    },

    // A number as it is shown.
    shown(name, r, c) { return this.textsOf(name)[r * this.matrixOf(name).cols + c]; },

    // "= 1 × 2 + 3 × 4 = 14", of the texts that a(n) and b(n) say.
    sumOfProducts(a, b, count, result, until = count) {
        const terms = range(until).map((n) => `${inBrackets(a(n))} × ${inBrackets(b(n))}`);
        return `${terms.join(' + ')} ${until < count ? '+ …' : `= ${result}${this.rounded()}`}`;
    },

    // Whether what is shown is exact.
    rounded() { return this.digits > 4 ? '' : ` (in the ${this.digits} digits shown)`; },

    explainProjection(name, weight, r, c, until) {
        const { x } = this, newest = until - 1;
        const sum = this.sumOfProducts((n) => this.shown('x', r, n), (n) => this.shown(weight, n, c), x.cols,
            this.shown(name, r, c), until);
        const where = `${TITLES[name]}, ${this.labels[r]}, ${c + 1}`;
        return { text: `${where}: row of x times column of ${TITLES[weight]} = ${sum}`,
            terms: x.cols,
            sources: { x: (i, j) => i === r && (!until || j === newest),
                [weight]: (i, j) => j === c && (!until || i === newest) } };
    },

    explainTyped(name, r, c) {
        const where = `${TITLES[name]}, row ${r + 1}, column ${c + 1}`;
        return { text: `${where}: ${this.shown(name, r, c)}. You can change it.`, sources: {} };
    },

    explainScore(r, c, until) {
        const { q } = this, newest = until - 1;
        const sum = this.sumOfProducts((n) => this.shown('q', r, n), (n) => this.shown('k', c, n), q.cols,
            this.shown('product', r, c), until);
        return { text: `score of ${this.labels[r]} with ${this.keyLabels[c]}: query times key = ${sum}`,
            terms: q.cols,
            sources: { q: (i, j) => i === r && (!until || j === newest),
                kt: (i, j) => j === c && (!until || i === newest), k: (i) => i === c } };
    },

    explainScaled(r, c) {
        const divisor = this.scale === '' ? `√${this.q.cols}` : signed(this.divisor());
        return { text: `${this.shown('product', r, c)} ÷ ${divisor} = ${this.shown('scaled', r, c)}${this.rounded()}`,
            sources: { product: (i, j) => i === r && j === c } };
    },

    explainMasked(r, c) {
        const o = this.k.rows - this.q.rows, place = this.keyLabels[r + o] || 'a place before the keys';
        const query = o ? `${this.labels[r]}, at ${place},` : this.labels[r];
        const key = this.keyLabels[c], isHidden = this.masks[r * this.k.rows + c];
        const before = this.shown('scaled', r, c);
        const text = isHidden ?
            `${key} comes after ${query} which does not see it: −∞ takes the place of ${before}` :
            `${query} sees ${key}: its score stays ${before}`;
        return { text, sources: { scaled: (i, j) => i === r && j === c } };
    },

    explainWeighted(r, c) {
        const product = `${inBrackets(this.shown('weights', this.row, r))} × ${inBrackets(this.shown('v', r, c))}`;
        const text = `${this.keyLabels[r]}: its weight × its value = ${product} = ${this.shown('weighted', r, c)}`;
        return { text: text + this.rounded(),
            sources: { weights: (i, j) => i === this.row && j === r, v: (i, j) => i === r && j === c } };
    },

    explainOutput(r, c, until) {
        const { v } = this, newest = until - 1;
        const sum = this.sumOfProducts((n) => this.shown('weights', r, n), (n) => this.shown('v', n, c), v.rows,
            this.shown('output', r, c), until);
        return { text: `output of ${this.labels[r]}, ${c + 1}: weights times values = ${sum}`,
            terms: v.rows,
            sources: { weights: (i, j) => i === r && (!until || j === newest),
                v: (i, j) => j === c && (!until || i === newest) } };
    },

    explainWeight(before, r, c) {
        const masked = this.result.masked, scores = Array.from(rowOf(masked, r));
        const seen = range(scores.length).filter((n) => scores[n] !== -Infinity);
        const top = Math.max(...scores), best = scores.indexOf(top);
        const weight = this.shown('weights', r, c);
        const pair = `weight of ${this.keyLabels[c]} for ${this.labels[r]}: `;
        if (seen.length === 0) return `${pair}0, for it sees no key`;
        if (scores[c] === -Infinity) return `${pair}exp(−∞) = 0, whatever the others are`;
        if (!Number.isFinite(top)) return `${pair}${weight}, for a score of its row is NaN or +∞`;
        const power = (n) => `exp(${this.shown(before, r, n)} − ${inBrackets(this.shown(before, r, best))})`;
        const exps = seen.map((n) => Math.exp(scores[n] - top)), digits = this.digits + 2;
        return `${pair}${power(c)} ÷ (${seen.map(power).join(' + ')}) ≈ ` +
            `${short(Math.exp(scores[c] - top), digits)} ÷ ${short(total(exps), digits)} = ${weight}${this.rounded()}`;
    },
};
