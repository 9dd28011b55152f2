// Panel 3, translation: the search as a tree, as methods of the panel. It knows numbers.js, pictures.js and parts.js.

const TRANSLATION_SEARCH = {
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
            'the logarithms of the probabilities of all tokens up to it; the end is not drawn. Divided by the length, that of the best translation is ' +
            `${short(score, 3)}.`;
        $('translation-tree').innerHTML = this.tree(`Beams: ${target.join(' ')}`);
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

    tree(label) {
        const steps = this.searchSteps(), nodes = [], edges = [];
        const widths = steps.map((step) => Math.max(52, ...step.map((node) => textWidth(node.token) + 18)));
        const x = widths.map((_, n) => 10 + widths.slice(0, n).reduce((a, b) => a + b + 26, 0));
        steps.forEach((step, n) => step.forEach(({ token, score, parent, best }, place) => {
            const y = 8 + 44 * place, centre = x[n] + widths[n] / 2, kind = best ? ' class="best"' : '';
            if (parent >= 0) {
                const from = `${x[n - 1] + widths[n - 1]} ${24 + 44 * parent}`, to = `${x[n]} ${y + 16}`;
                const bend = `${x[n] - 10} ${24 + 44 * parent} ${x[n] - 16} ${y + 16}`;
                edges.push(`<path${kind} d="M${from}C${bend} ${to}"/>`);
            }
            const sum = score > -0.005 ? short(score, 1) : fixed(score, 2);
            nodes.push(`<rect${kind} x="${x[n]}" y="${y}" width="${widths[n]}" height="34" rx="5"/>` +
                `<text x="${centre}" y="${y + 15}">${escapeText(token)}</text>` +
                `<text class="sum-of" x="${centre}" y="${y + 28}">${sum}</text>`);
        }));
        const width = steps.length ? x[steps.length - 1] + widths[steps.length - 1] + 10 : 10;
        const height = 12 + 44 * Math.max(1, ...steps.map((step) => step.length));
        return `<svg class="tree" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" ` +
            `aria-label="${escapeText(label)}">${edges.join('')}${nodes.join('')}</svg>`;
    },
};
