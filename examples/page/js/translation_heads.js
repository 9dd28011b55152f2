// Panel 3, translation: which heads there are, what they look at, and what becomes of them, as methods of the panel.
// This module owns the changes of heads, in bytes for the engine as in words and links. It knows all modules before it but
// those of other panels.

const CHANGES = ['as trained', 'off', 'uniform']; // t5_change
const MEAN = -1; // of all heads of a part, in place of a head
const LOOKS = {
    cross: ['the translation', 'at the sentence'],
    encoder: ['the sentence', 'at itself'],
    decoder: ['the translation', 'at what it has written so far'],
};

const MISSED = { part: 'decoder', block: 0, head: 1 }; // by the small model, which then does not know what it has said

// A token as a label: without the mark of a space before it.
const withoutSpace = (token) => token.replace(/^▁(?=.)/, '');

const TRANSLATION_HEADS = {
    startHeads() {
        this.grids = { map: new Grid({ look: (r, c) => this.tell(r, c) }) };
        $('translation-map').append(this.grids.map.element);
        const parts = Object.entries(LOOKS).map(([part, names]) => [part, names.join(' ')]);
        $('translation-part').innerHTML = optionsHtml(parts);
        const changes = optionsHtml(CHANGES.map((name, n) => [n, name]));
        for (const id of ['head', 'layer']) $(`translation-${id}-change`).innerHTML = changes;
        when('change', 'translation-part', (part) => this.lookAt({ part }));
        when('change', 'translation-head-change', (change) => this.changeHeads([this.head], Number(change)));
        when('change', 'translation-layer-change', (change) =>
            this.changeHeads(range(this.sizes().heads), Number(change)));
        when('click', 'translation-example', () => {
            Object.assign(this, { changes: null, ...MISSED });
            this.changeHeads([this.head], 1);
        });
        when('click', 'translation-as-trained', () => this.update({ changes: null }));
        $('translation-heads').addEventListener('click', (event) => {
            const button = event.target.closest('button');
            if (button) this.lookAt({ block: Number(button.dataset.block), head: Number(button.dataset.head) });
        });
        for (const id of ['read', 'written']) {
            const point = (event) => {
                const token = event.target.closest('[data-n]');
                if (token) this.tint(id, Number(token.dataset.n));
            };
            for (const type of ['pointerover', 'focusin']) $(`translation-${id}`).addEventListener(type, point);
            for (const type of ['pointerleave', 'focusout'])
                $(`translation-${id}`).addEventListener(type, () => this.tint(id, -1));
        }
    },

    // Another part, or another head.
    lookAt(choice) {
        Object.assign(this, choice);
        this.renderHeads();
        remember();
    },

    // ---- changes ----

    placeOfHead(part, block, head) {
        const { encoder, decoder, heads } = this.sizes();
        return (PARTS.indexOf(part) * Math.max(encoder, decoder) + block) * heads + head;
    },

    changeOf(part, block, head) { return this.changes ? this.changes[this.placeOfHead(part, block, head)] : 0; },

    changeHeads(heads, change) {
        this.put(this.part, this.block, heads, change);
        this.changed();
    },

    put(part, block, heads, change) {
        const { encoder, decoder, heads: all } = this.sizes();
        if (!this.changes) this.changes = new Uint8Array(3 * Math.max(encoder, decoder) * all);
        for (const head of heads) this.changes[this.placeOfHead(part, block, head)] = change;
        if (!this.changes.some(Boolean)) this.changes = null;
    },

    // "cross-3-2-off", for each head that is changed, and back.
    writeChanges() {
        const { heads } = this.sizes();
        return PARTS.flatMap((part) => range(this.sizes()[part]).flatMap((block) => range(heads).flatMap((head) => {
            const change = this.changeOf(part, block, head);
            return change ? [`${part}-${block + 1}-${head + 1}-${CHANGES[change]}`] : [];
        }))).join(',');
    },

    readChanges(text) {
        this.changes = null;
        for (const word of text.split(',').filter(Boolean)) {
            const [part, layer, head, name] = word.split('-'), change = CHANGES.indexOf(name);
            const isThere = PARTS.includes(part) && this.sizes()[part] >= layer && layer >= 1 &&
                this.sizes().heads >= head && head >= 1 && change > 0;
            if (isThere) this.put(part, layer - 1, [head - 1], change);
            else notice(`The link’s “changed”, “${word.slice(0, 30)}”, is no head of this model with a change.`);
        }
    },

    // ---- what is shown ----

    heads() { return this.result ? this.result.attention[this.part] : []; },

    renderHeads() {
        const blocks = this.heads(), isMean = this.head === MEAN;
        $('translation-looks').hidden = !blocks.length;
        if (!blocks.length) return;
        this.block = clamp(this.block, 0, blocks.length - 1);
        this.head = clamp(this.head, MEAN, blocks[0].length - 1);
        $('translation-part').value = this.part;
        $('translation-change').hidden = isMean;
        if (!isMean) {
            const changes = blocks[this.block].map((_, head) => this.changeOf(this.part, this.block, head));
            $('translation-head-change').value = changes[this.head];
            $('translation-layer-change').value = changes.every((change) => change === changes[0]) ? changes[0] : '';
        }
        $('translation-as-trained').disabled = !this.changes;
        this.renderTiles(blocks);
        this.grids.map.update(this.map());
        tell('translation-sum', 'Point at a weight or a token, or go to it with the arrow keys.', false);
    },

    renderTiles(blocks) {
        const hadFocus = $('translation-heads').contains(document.activeElement);
        const tile = (block, head, name, label) => {
            const isPressed = head === this.head && (head === MEAN || block === this.block);
            const change = head === MEAN ? 0 : this.changeOf(this.part, block, head);
            return `<button type="button" data-block="${block}" data-head="${head}" aria-pressed="${isPressed}" ` +
                `aria-label="${label}${change ? `, ${CHANGES[change]}` : ''}" class="${change ? CHANGES[change] : ''}">` +
                `<canvas></canvas>${name}</button>`;
        };
        const rows = blocks.map((heads, block) =>
            heads.map((_, head) => tile(block, head, `${block + 1}.${head + 1}`, headName(block, head))).join(''));
        $('translation-heads').style.setProperty('--heads', blocks[0].length);
        $('translation-heads').innerHTML = rows.join('') + tile(this.block, MEAN, 'mean', 'mean of all heads');
        for (const button of $('translation-heads').children)
            drawMap(button.firstElementChild, this.mapOf(Number(button.dataset.block), Number(button.dataset.head)));
        if (hadFocus) $('translation-heads').querySelector('[aria-pressed=true]').focus();
    },

    // The weights of a head, or the mean of all, and who is hidden from whom.
    mapOf(block, head) {
        const blocks = this.heads(), all = head === MEAN ? blocks.flat() : [blocks[block][head]];
        const { rows, cols } = all[0], isCausal = this.part === 'decoder';
        const values = range(rows * cols).map((n) => total(all.map((m) => m.values[n])) / all.length);
        const hidden = values.map((_, n) => isCausal && n % cols > Math.floor(n / cols) ? 1 : 0);
        return { ...matrix(rows, cols, values), scale: WEIGHTS, hidden };
    },

    map() {
        const { source, target } = this.result, given = ['<start>', ...target.slice(0, -1)];
        const labels = { cross: [target, source], encoder: [source, source], decoder: [target, given] }[this.part];
        const m = this.mapOf(this.block, this.head), [who, whom] = LOOKS[this.part];
        return {
            ...m,
            name: this.head === MEAN ? 'Mean of all heads' : `Layer ${this.block + 1}, head ${this.head + 1}`,
            note: `rows: ${who}, which looks ${whom}`,
            plain: true,
            side: 24,
            texts: Array.from(m.values, (x) => fixed(x, 2)),
            rowLabels: labels[0].map(withoutSpace),
            colLabels: labels[1].map(withoutSpace),
        };
    },

    tell(r, c) {
        const { content } = this.grids.map, weight = short(entry(content, r, c), 3);
        const row = content.rowLabels[r], column = content.colLabels[c];
        const looks = `${this.part === 'encoder' ? 'Reading' : 'Writing'} “${row}”`;
        const head = this.head === MEAN ? 'the heads give' : 'this head gives';
        this.grids.map.mark((i, j) => i === r && j === c);
        tell('translation-sum', content.hidden[r * content.cols + c] ? `“${column}” comes after “${row}”: it is hidden.` :
            `${looks}, ${head} “${column}” ${weight} of ${this.head === MEAN ? 'their' : 'its'} attention.`);
    },

    // Tints the tokens that a token looks at, or is looked at from; n = -1: none.
    tint(id, n) {
        const m = this.grids.map.content, isRow = this.part !== 'cross' || id === 'written';
        const there = { cross: id === 'written' ? 'read' : 'written', encoder: 'read', decoder: 'written' }[this.part];
        const isTold = n >= 0 && this.result && (this.part === 'cross' || there === id);
        const first = this.part === 'decoder' ? 1 : 0; // its first column is the start, which is no token of the row
        for (const one of ['read', 'written'])
            Array.from($(`translation-${one}`).children).forEach((token, k) => {
                const at = isRow ? entry(m, n, k + first) : entry(m, k, n);
                const isSeen = isTold && one === there && (!isRow || k + first < m.cols);
                const rgb = isSeen ? shade(at, WEIGHTS, themeNow()) : null;
                token.style.background = rgb ? css(rgb) : '';
                token.style.color = rgb ? inkOn(rgb) : '';
                token.title = rgb ? fixed(at, 2) : '';
            });
        if (isTold) tell('translation-sum', this.tinted(m, isRow, n));
    },

    // What a token looks at most, or is looked at from.
    tinted(m, isRow, n) {
        const { rows, cols, rowLabels, colLabels } = m, count = isRow ? cols : rows;
        const [own, others] = isRow ? [rowLabels, colLabels] : [colLabels, rowLabels];
        const weight = (k) => isRow ? entry(m, n, k) : entry(m, k, n);
        const most = range(count).sort((a, b) => weight(b) - weight(a)).slice(0, 3)
            .map((k) => `“${others[k]}” ${fixed(weight(k), 2)}`);
        return `“${own[n]}” ${isRow ? 'looks most at' : 'is looked at most from'} ${listed(most)}.`;
    },
};
