// Panel 1, step by step: the sum behind a number, as methods of the panel. This module owns the sentences that say how
// a number came about, and which cells of other matrices are marked for it. It knows numbers.js and steps_presets.js.

// "1 × 2 + 3 × 4 = 14": a(n) times b(n), for each n.
function sumOfProducts(a, b, count, result) {
    const terms = range(count).map((n) => `${signed(a(n), 8)} × ${signed(b(n), 8)}`);
    return `${terms.join(' + ')} = ${short(result, 8)}`;
}

const STEPS_SUMS = {
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
};
