// Panel 3, translation: a sentence through the bundled model. This module owns the sentence, the search as a tree, and
// which head is looked at. It knows all modules before it but those of other panels.

const EASY = 'It is easy to translate languages with transformers';
const BETWEEN_WORDS = /[\s.?!,;:()"“”]+/;
const LOOKS = {
    cross: ['translation', 'sentence'],
    encoder: ['token that looks', 'token that is looked at'],
    decoder: ['token written', 'token before it'],
};

const translation = {
    ...PANEL, id: 'translation', text: EASY, beams: 4, part: 'cross', block: 2, head: 1,

    start() {
        this.words = new Set(fileText('words').split('\n'));
        this.sentences = fileText('sentences').split('\n');
        this.chosen = 0;
        $('translation-beams').innerHTML = optionsHtml(range(8).map((n) => [n + 1, n ? String(n + 1) : '1 (greedy)']));
        const button = (word) => `<button type="button">${escapeText(word)}</button>`;
        $('translation-list').innerHTML = Array.from(this.words, button).join('');
        $('translation-list').addEventListener('click', (event) => {
            if (event.target.tagName !== 'BUTTON') return;
            this.setText(`${this.text.trimEnd()} ${event.target.textContent}`.trim());
        });
        when('input', 'translation-source', (text) => {
            this.text = text;
            clearTimeout(this.timer);
            this.timer = setTimeout(() => shown === this && this.changed(), 250);
        });
        when('change', 'translation-beams', (beams) => this.update({ beams: Number(beams) }));
        when('click', 'translation-another', () => {
            this.chosen = (this.chosen + 37) % this.sentences.length;
            this.setText(this.sentences[this.chosen]);
        });
        when('change', 'translation-part', (part) => this.lookAt({ part }));
        $('translation-heads').addEventListener('click', (event) => {
            const button = event.target.closest('button');
            if (button) this.lookAt({ block: Number(button.dataset.block), head: Number(button.dataset.head) });
        });
    },

    // Another part, or another head.
    lookAt(choice) {
        Object.assign(this, choice);
        this.renderHeads();
        remember();
    },

    setText(text) { this.update({ text: text.slice(0, 300) }); },

    unknownWords() {
        const isKnown = (word) => this.words.has(word.toLowerCase().replace('’', '\''));
        return this.text.split(BETWEEN_WORDS).filter((word) => word && !isKnown(word));
    },

    render() {
        setField('translation-source', this.text);
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
            const sum = score > -0.005 ? short(score, 1) : fixed(score, 2);
            nodes.push(`<rect x="${x[n]}" y="${y}" ${size} ${paint}/>`);
            nodes.push(svgText(centre, y + 15, token, middle(ink.ink)));
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
        return `<button type="button" ${attributes}><canvas></canvas>${headName(block, head)}</button>`;
    },

    map() {
        const m = this.heads()[this.block][this.head], { source, target } = this.result;
        const given = ['<start>', ...target.slice(0, -1)];
        const labels = { cross: [target, source], encoder: [source, source], decoder: [target, given] }[this.part];
        return {
            ...m,
            title: headName(this.block, this.head),
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
        const map = this.map(), weight = entry(map, r, c);
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
        const text = link.has('text') ? wellFormed(link.get('text')) : EASY;
        if (text.length > 300) notice('The link’s text is longer than 300 characters: the rest is left out.');
        this.text = text.slice(0, 300);
        this.beams = choiceOfNumber(link, 'beams', 1, 8, 4);
        this.part = choice(link, 'part', Object.keys(LOOKS), 'cross');
        this.block = choiceOfNumber(link, 'layer', 1, 99, 3) - 1;
        this.head = choiceOfNumber(link, 'head', 1, 99, 2) - 1;
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
