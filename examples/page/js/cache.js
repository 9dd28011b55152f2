// Panel 5, token by token: a sentence is attended to without a key/value cache and with one. This module owns the
// sentence and how far it is written, the counts of what a step costs, and the maps; it knows all modules before it but
// those of other panels, and of panel 1 what makes numbers of words.

const SIZE = 8, MOST_WORDS = 16, WITH_NUMBERS = 8; // SIZE: numbers of a word; WITH_NUMBERS: so many columns at most
const OPENING = 'the dog sees the cat and runs away';
const BETWEEN_TOKENS = 1200; // milliseconds, when they come by themselves

// The maps, by where they stand.
const CACHE_MAPS = {
    without: ['allKeys', 'allValues', 'allWeights'],
    cached: ['keys', 'values', 'newWeights'],
    errors: ['weights', 'errors'],
};

const counted = (n) => n.toLocaleString('en');
const largestError = (a, b) => Math.max(...a.values.map((x, n) => Math.abs(x - b.values[n])));

const cache = {
    ...PANEL, id: 'cache', text: OPENING, step: 4, type: 'i8', clock: 0, grids: {}, looked: null,
    invitation: 'Point at a number, or go to it with the arrow keys.',

    start() {
        for (const [place, names] of Object.entries(CACHE_MAPS))
            for (const name of names) {
                this.grids[name] = new Grid({ look: (r, c) => this.look(name, r, c) });
                $(`cache-${place}`).append(this.grids[name].element);
            }
        when('input', 'cache-sentence', (text) => this.setText(text));
        when('change', 'cache-type', (type) => this.update({ type }));
        when('click', 'cache-back', () => this.go(this.step - 1));
        when('click', 'cache-next', () => this.go(this.step + 1));
        when('click', 'cache-begin', () => this.go(1));
        when('input', 'cache-step', (step) => this.go(Number(step)));
        when('click', 'cache-play', () => this.clock ? this.stopPlay() : this.play());
        this.take(OPENING);
    },

    // The words of a text, and their numbers.
    take(text) {
        const words = wordsOf(text, MOST_WORDS);
        if (!words) return;
        this.text = text;
        this.numbers = numbersOfSentence(words, SIZE);
        this.words = this.numbers.labels;
        this.step = Math.min(this.step, this.words.length);
    },

    setText(text) {
        this.take(text);
        this.changed();
    },

    go(step) {
        this.stopPlay();
        this.update({ step });
    },

    play() {
        if (this.step === this.words.length) this.step = 0;
        const tick = () => {
            if (shown !== this || this.step === this.words.length) return this.stopPlay();
            this.clock = setTimeout(tick, BETWEEN_TOKENS);
            return this.update({ step: this.step + 1 });
        };
        tick();
    },

    stopPlay() {
        clearTimeout(this.clock);
        this.clock = 0;
        this.renderControls();
    },

    compute() {
        const { x, wq, wk, wv } = this.numbers, some = matrix(this.step, SIZE, x.values.subarray(0, this.step * SIZE));
        this.results = Object.fromEntries(Object.keys(CACHE_TYPES).map((type) =>
            [type, engine.cached(type, some, [wq, wk, wv])]));
    },

    // What step t costs, and all steps up to it: multiplications without a cache and with one.
    costs(t) {
        const projections = 3 * SIZE * SIZE, pair = 2 * SIZE;
        return { without: t * projections + t * (t + 1) / 2 * pair, cached: projections + t * pair };
    },

    costsUntil(t, which) { return total(range(t).map((i) => this.costs(i + 1)[which])); },

    render() {
        setField('cache-sentence', this.text);
        $('cache-type').value = this.type;
        this.renderControls();
        if (!this.computes()) return;
        this.renderCosts();
        this.renderTypes();
        for (const [name, content] of Object.entries(this.contents())) this.grids[name].update(content);
        this.forget();
    },

    renderControls() {
        const { step, words } = this, kind = (i) => i === step - 1 ? 'newest' : i < step ? 'known' : 'later';
        disable('cache-back', step === 1, 'cache-play');
        disable('cache-next', step === words.length, 'cache-play');
        $('cache-play').textContent = this.clock ? 'Pause' : 'Play';
        $('cache-step').max = words.length;
        $('cache-step').value = step;
        $('cache-words').innerHTML =
            words.map((word, i) => `<span class="${kind(i)}">${escapeText(word)}</span>`).join(' ');
    },

    // ---- counts ----

    renderCosts() {
        const { step, words, type } = this, { bytes } = this.results[type];
        const say = (which) => `Step ${step}: ${counted(this.costs(step)[which])} multiplications, ` +
            `${counted(this.costsUntil(step, which))} in all.`;
        const kept = `${counted(step * bytes)} bytes are kept: ${bytes} for the key and the value of a word.`;
        $('cache-costs-without').textContent = `${say('without')} Nothing is kept but the words.`;
        $('cache-costs-cached').textContent = `${say('cached')} ${kept}`;
        const most = this.costs(words.length).without;
        const cells = (t, which) => {
            const cost = this.costs(t)[which], part = `--part: ${(100 * cost / most).toFixed(1)}%`;
            return `<td class="bar ${which}" style="${part}">${counted(cost)}</td>` +
                `<td>${counted(this.costsUntil(t, which))}</td>`;
        };
        const row = (t) => `<tr${t === step ? ' aria-current="step"' : ''}>` +
            `<th scope="row">${t}. ${escapeText(words[t - 1])}</th>` +
            `${cells(t, 'without')}${cells(t, 'cached')}<td>${counted(t * bytes)}</td></tr>`;
        const heads = ['step', 'multiplications without a cache', 'in all', 'with a cache', 'in all',
            `bytes kept, ${type}`];
        $('cache-costs').innerHTML = `<thead>${this.headsHtml(heads)}</thead>` +
            `<tbody>${range(step).map((i) => row(i + 1)).join('')}</tbody>`;
    },

    headsHtml: (heads) => `<tr>${heads.map((head) => `<th scope="col">${head}</th>`).join('')}</tr>`,

    renderTypes() {
        const row = ([type, { without, cached, bytes }]) => {
            const cells = [bytes, counted(this.step * bytes), short(largestError(cached.weights, without.weights), 2),
                short(largestError(cached.output, without.output), 2)];
            return `<tr${type === this.type ? ' aria-current="true"' : ''}><th scope="row">${type}</th>` +
                `${cells.map((text) => `<td>${text}</td>`).join('')}</tr>`;
        };
        const heads = ['type', 'bytes a word', 'bytes now', 'error in a weight', 'error in an output'];
        $('cache-types').innerHTML = `<thead>${this.headsHtml(heads)}</thead>` +
            `<tbody>${Object.entries(this.results).map(row).join('')}</tbody>`;
    },

    // ---- maps ----

    // In pairs, as they are saved: without a cache, and with one.
    contents() {
        const { without, cached } = this.results[this.type], { step } = this, words = this.words.slice(0, step);
        const numbers = scaleOf([...without.keys.values, ...without.values.values]);
        const isNew = (r) => r === step - 1, hidden = range(step * step).map((n) => isLater(n, step));
        const map = (m, { text = (x) => fixed(x, 2), ...look }) => ({
            rowLabels: words, rowName: 'word', frame: 'computed at this step', side: look.plain ? 22 : 0, ...m, ...look,
            texts: Array.from(m.values, (x, n) => look.hidden && look.hidden[n] ? '0' : text(x)) });
        const ofWords = (m, name, framed) => map(m, { name, framed, scale: numbers, plain: true, colName: 'number',
            colLabels: range(SIZE).map((i) => String(i + 1)) });
        const ofPairs = (m, look) => map(m, { scale: WEIGHTS, colLabels: words, plain: step > WITH_NUMBERS,
            rowName: 'word that looks', colName: 'word that is looked at', ...look });
        const errors = matrix(step, step, cached.weights.values.map((w, n) => w - without.weights.values[n]));
        return {
            allKeys: ofWords(without.keys, 'Keys, all computed', () => true),
            keys: ofWords(cached.keys, 'Keys, one new', isNew),
            allValues: ofWords(without.values, 'Values, all computed', () => true),
            values: ofWords(cached.values, 'Values, one new', isNew),
            allWeights: ofPairs(without.weights, { name: 'Weights, all computed', hidden, framed: (r, c) => c <= r }),
            newWeights: ofPairs(matrix(1, step, rowOf(cached.weights, step - 1)),
                { name: 'Weights of the new word', rowLabels: words.slice(-1), framed: () => true }),
            weights: ofPairs(cached.weights, { name: `Weights, cache of ${this.type}`, hidden }),
            errors: ofPairs(errors, { name: 'Error of these weights', hidden, scale: scaleOf(errors.values),
                digits: 5, text: (x) => short(x, 1) }),
        };
    },

    look(name, r, c) {
        this.forget();
        this.looked = { name, r, c };
        this.grids[name].point(r, c);
        tell('cache-sum', this.explain(name, r, c));
    },

    explain(name, r, c) {
        const { content } = this.grids[name], row = name === 'newWeights' ? this.step - 1 : r;
        const word = (i) => `word ${i + 1}, “${this.words[i]}”`, x = content.values[r * content.cols + c];
        const since = content.framed && content.framed(r, c) ? 'computed at this step' : `kept since step ${r + 1}`;
        if (content.colName === 'number') {
            const part = /keys$/i.test(name) ? 'key' : 'value';
            return `Number ${c + 1} of the ${part} of ${word(r)}: ${short(x)}, ${since}.`;
        }
        if (c > row) return `${word(row)}, does not see ${word(c)}, which comes later.`;
        if (name !== 'errors') return `${word(row)}, takes ${shareOf(x)} from ${word(c)}.`;
        const { without, cached } = this.results[this.type], weight = (m) => short(entry(m.weights, r, c), 6);
        return `${word(r)}, takes ${weight(cached)} from ${word(c)}, with a cache of ${this.type}, ` +
            `and ${weight(without)} without one: off by ${short(x, 2)}.`;
    },

    picture() {
        return engine.picture(`Token by token: step ${this.step} of “${this.words.join(' ')}”`,
            Object.values(this.contents()), 2);
    },

    write(link) {
        link.set('sentence', this.text);
        link.set('step', this.step);
        link.set('type', this.type);
    },

    read(link) {
        this.stopPlay();
        this.take(OPENING);
        if (link.has('sentence')) this.take(link.get('sentence').slice(0, 200));
        this.step = choiceOfNumber(link, 'step', 1, this.words.length, Math.min(4, this.words.length));
        this.type = choice(link, 'type', Object.keys(CACHE_TYPES), 'i8');
    },
};
panels.push(cache);
