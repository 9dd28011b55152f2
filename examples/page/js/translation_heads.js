// Panel 3, translation: which heads there are, what they look at, and what becomes of them, as methods of the panel.
// This module owns the changes of heads, in bytes for the engine as in words and links. It knows all modules before
// it but those of other panels.

const CHANGES = ['as trained', 'off', 'uniform']; // t5_change
const MEAN = -1; // of all heads of a part, in place of a head
const LOOKS = {
    cross: ['the translation', 'at the sentence'],
    encoder: ['the sentence', 'at itself'],
    decoder: ['the translation', 'at what it has written so far'],
};

// A head that the small model misses, at the sentence that it begins with.
const MISSED = { part: 'decoder', block: 0, head: 1 }, EXAMPLE = 'decoder-1-2-off';
const EXAMPLE_SAYS = 'This head looked back at “à” while the words behind it were written. Without it the model begins ' +
    'with them again and again.';

// A token as a label: without the mark of a space before it.
const withoutSpace = (token) => token.replace(/^▁(?=.)/, '');

const TRANSLATION_HEADS = {
    startHeads() {
        this.grids = { map: new Grid({ look: (r, c) => this.tell(r, c) }), before: new Grid() };
        $('translation-map').append(this.grids.map.element);
        const parts = Object.entries(LOOKS).map(([part, names]) => [part, names.join(' ')]);
        $('translation-part').innerHTML = optionsHtml(parts);
        const changes = optionsHtml(CHANGES.map((name, n) => [n, name]));
        $('translation-head-change').innerHTML = changes;
        $('translation-layer-change').innerHTML = `<option value="" disabled>mixed</option>${changes}`;
        when('change', 'translation-part', (part) => this.lookAt({ part }));
        when('change', 'translation-head-change', (change) => this.changeHeads([this.head], Number(change)));
        when('change', 'translation-layer-change', (change) =>
            this.changeHeads(range(this.sizes().heads), Number(change)));
        when('click', 'translation-example', () => {
            Object.assign(this, { text: EASY, beams: 4, changes: null, ...MISSED });
            this.changeHeads([this.head], 1);
            $('translation-target').scrollIntoView({ block: 'nearest' });
        });
        when('click', 'translation-as-trained', () => {
            this.update({ changes: null });
            $('translation-part').focus({ preventScroll: true });
        });
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
        const wrong = [];
        for (const word of text.split(',').filter(Boolean)) {
            const [, part, layer, head, name] = word.match(/^([a-z]+)-([1-9]\d*)-([1-9]\d*)-(off|uniform)$/) || [];
            const isThere = PARTS.includes(part) && layer <= this.sizes()[part] && head <= this.sizes().heads;
            if (isThere) this.put(part, layer - 1, [head - 1], CHANGES.indexOf(name));
            else wrong.push(`“${word.slice(0, 30)}”`);
        }
        if (wrong.length)
            notice(`The link’s “changed” has what is no head of this model with a change: ${listed(wrong.slice(0, 5))}.`);
    },

    // ---- what is shown ----

    heads(result = this.result) { return result ? result.attention[this.part] : []; },

    renderHeads() {
        const blocks = this.heads(), isMean = this.head === MEAN;
        $('translation-looks').hidden = !blocks.length;
        if (!blocks.length) return;
        this.block = clamp(this.block, 0, blocks.length - 1);
        this.head = clamp(this.head, MEAN, blocks[0].length - 1);
        $('translation-part').value = this.part;
        $('translation-change').hidden = isMean;
        const changes = blocks[this.block].map((_, head) => this.changeOf(this.part, this.block, head));
        $('translation-head-change').value = isMean ? '' : changes[this.head];
        $('translation-layer-change').value = changes.every((change) => change === changes[0]) ? changes[0] : '';
        $('translation-as-trained').disabled = !this.changes;
        this.renderTiles(blocks);
        this.grids.map.update(this.map());
        const isChanged = !isMean && this.changeOf(this.part, this.block, this.head) > 0;
        $('translation-trained').replaceChildren(...(isChanged ? [this.grids.before.element] : []));
        if (isChanged) this.grids.before.update(this.map(this.head, this.trained));
        tell('translation-sum', 'Point at a weight or a token, or go to it with the arrow keys.', false);
    },

    renderTiles(blocks) {
        const hadFocus = $('translation-heads').contains(document.activeElement);
        const tile = (block, head, name, label) => {
            const isPressed = head === this.head && (head === MEAN || block === this.block);
            const change = CHANGES[head === MEAN ? 0 : this.changeOf(this.part, block, head)];
            const isChanged = change !== CHANGES[0];
            return `<button type="button" data-block="${block}" data-head="${head}" aria-pressed="${isPressed}" ` +
                `aria-label="${label}${isChanged ? `, ${change}` : ''}" class="${isChanged ? change : ''}">` +
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
    mapOf(block, head, result = this.result) {
        const blocks = this.heads(result), all = head === MEAN ? blocks.flat() : [blocks[block][head]];
        const { rows, cols } = all[0], isCausal = this.part === 'decoder';
        const values = range(rows * cols).map((n) => total(all.map((m) => m.values[n])) / all.length);
        const hidden = values.map((_, n) => isCausal && isLater(n, cols) ? 1 : 0);
        return { ...matrix(rows, cols, values), scale: WEIGHTS, hidden };
    },

    map(head = this.head, result = this.result) {
        const { source, target } = result, given = ['<start>', ...target.slice(0, -1)];
        const labels = { cross: [target, source], encoder: [source, source], decoder: [target, given] }[this.part];
        const m = this.mapOf(this.block, head, result), [who, whom] = LOOKS[this.part];
        const change = head === MEAN || result === this.trained ? 0 : this.changeOf(this.part, this.block, head);
        const state = change ? `, ${CHANGES[change]}` : this.changes && result === this.trained ? ', as trained' : '';
        return {
            ...m,
            name: (head === MEAN ? 'Mean of all heads' : `Layer ${this.block + 1}, head ${head + 1}`) + state,
            note: `rows: ${who}, which looks ${whom}`,
            plain: true,
            side: 24,
            texts: Array.from(m.values, (x) => fixed(x, 2)),
            rowLabels: labels[0].map(withoutSpace),
            colLabels: labels[1].map(withoutSpace),
        };
    },

    tell(r, c) {
        const { content } = this.grids.map, weight = shareOf(entry(content, r, c));
        const row = content.rowLabels[r], column = content.colLabels[c];
        const looks = `${this.part === 'encoder' ? 'Reading' : 'Writing'} “${row}”`;
        const takes = this.head === MEAN ? 'the heads take' : 'this head takes';
        const isOff = this.head !== MEAN && this.changeOf(this.part, this.block, this.head) === CHANGES.indexOf('off');
        this.grids.map.mark((i, j) => i === r && j === c);
        const isHidden = content.hidden[r * content.cols + c];
        tell('translation-sum', isHidden ? `Where “${row}” is written, “${column}” is still to come: it is hidden.` :
            isOff ? 'This head is off: it adds nothing.' : `${looks}, ${takes} ${weight} from “${column}”.`);
    },

    // Tints the tokens that a token looks at, or is looked at from; n = -1: none.
    tint(id, n) {
        const m = this.grids.map.content, isRow = this.part !== 'cross' || id === 'written';
        const there = { cross: id === 'written' ? 'read' : 'written', encoder: 'read', decoder: 'written' }[this.part];
        const isTold = n >= 0 && this.result && (this.part === 'cross' || there === id);
        const first = this.part === 'decoder' ? 1 : 0; // its first column is the start, which is no token of the row
        for (const one of ['read', 'written'])
            Array.from($(`translation-${one}`).children).forEach((token, k) => {
                const [r, c] = isRow ? [n, k + first] : [k, n];
                const isThere = isTold && one === there && c < m.cols, isHidden = isThere && m.hidden[r * m.cols + c];
                const rgb = isThere && !isHidden ? shade(entry(m, r, c), WEIGHTS, themeNow()) : null;
                token.classList.toggle('hidden-key', Boolean(isHidden));
                token.style.background = rgb ? css(rgb) : '';
                token.style.color = rgb ? inkOn(rgb) : '';
                token.title = rgb ? fixed(entry(m, r, c), 2) : isHidden ? 'hidden' : '';
            });
        if (isTold) tell('translation-sum', this.tinted(m, isRow, n));
    },

    // What a token looks at most, or is looked at from.
    tinted(m, isRow, n) {
        const { rows, cols, rowLabels, colLabels } = m, count = isRow ? cols : rows;
        const [own, others] = isRow ? [rowLabels, colLabels] : [colLabels, rowLabels];
        const weight = (k) => isRow ? entry(m, n, k) : entry(m, k, n);
        const isHidden = (k) => m.hidden[isRow ? n * m.cols + k : k * m.cols + n];
        const most = range(count).filter((k) => !isHidden(k)).sort((a, b) => weight(b) - weight(a)).slice(0, 3)
            .map((k) => `“${others[k]}” ${fixed(weight(k), 2)}`);
        const looks = `${this.part === 'encoder' ? 'Reading' : 'Writing'} “${own[n]}”, it looks most at`;
        return `${isRow ? looks : `“${own[n]}” is looked at most from`} ${listed(most)}.`;
    },
};
