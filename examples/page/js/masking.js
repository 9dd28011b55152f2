// Panel 2, masking: which keys a query sees, by every rule that attn_sdpa has, and why. This module owns the options
// and the rules in words. It knows all modules before it but those of panel 1.

// The options of page_attend, in its order: each a number from `least` to `most`, whole where `step` is 1. `on`: it can
// be off, and then is NaN.
const MASKING = [
    { id: 'causal', name: 'Causal rule', least: 0, most: 3, step: 1,
        choices: [['0', 'none'], ['1', 'upper left: the same words'], ['2', 'lower right: new words at the end'],
            ['3', 'offset: wherever you say']] },
    { id: 'offset', name: 'Where the first query stands', least: -16, most: 16, step: 1 },
    { id: 'left', name: 'Window to the left', least: 0, most: 15, step: 1, on: true,
        about: 'so many words before itself' },
    { id: 'right', name: 'Window to the right', least: 0, most: 15, step: 1, on: true,
        about: 'so many words after itself' },
    { id: 'qlen', name: 'Valid queries', least: 0, most: 16, step: 1, on: true,
        about: 'the others are padding, whose output is 0' },
    { id: 'kvlen', name: 'Valid keys', least: 0, most: 16, step: 1, on: true,
        about: 'the others are padding, which nobody sees' },
    { id: 'alibi', name: 'ALiBi slope', least: 0, most: 2, step: 0.05, on: true,
        about: 'takes slope × distance off each score' },
    { id: 'softcap', name: 'Softcap', least: 0.1, most: 10, step: 0.1, on: true,
        about: 'bends scores so that none is beyond it' },
    { id: 'sink', name: 'Sink', least: -5, most: 5, step: 0.25, on: true,
        about: 'a score without a key: it takes weight and gives nothing' },
    { id: 'temperature', name: 'Temperature', least: 0.1, most: 5, step: 0.1,
        about: 'divides scores: above 1 weights are more even' },
];
const SIZES = [
    { id: 'lq', name: 'Queries', least: 1, most: 16, step: 1 },
    { id: 'lk', name: 'Keys', least: 1, most: 16, step: 1 },
];
const OPTIONS = [...SIZES, ...MASKING];
const SHOWS = [['weights', 'weights'], ['final', 'scores given to softmax']];
const SCORES = [['random', 'of random numbers'], ['alike', 'all alike']];
const NONE = 0, UPPER_LEFT = 1, LOWER_RIGHT = 2, OFFSET = 3, KEY_SIZE = 8;

const MASKING_AT_FIRST = {
    lq: 7, lk: 7, causal: 1, offset: 0, left: 2, right: 1, qlen: 5, kvlen: 5,
    alibi: 0.5, softcap: 1, sink: 1, temperature: 1,
};

// The words that look and are looked at: as many as there are queries and keys, all of them different.
const TEXT = 'Every morning my old neighbour walks her two dogs along this quiet river before breakfast begins'
    .split(' ');

// A position of the text, in a sentence.
const wordAt = (p) => TEXT[p] ? `“${TEXT[p]}”` : p < 0 ? 'a place before the text' : 'a place after the text';

const NOBODY_LOOKS_AHEAD = 'No word sees what comes after it: when a text is written word by word, the later words are ' +
    'not there yet.';

// An option of the panel, as HTML: a list of choices.
function choiceHtml(id, name, choices) {
    const items = optionsHtml(choices);
    return `<div class="option"><label>${name} <select id="masking-${id}">${items}</select></label></div>`;
}

// An option of the panel, as HTML: a number, by slider or typed, which may be off.
function numberHtml(o) {
    const id = `masking-${o.id}`, bounds = `min="${o.least}" max="${o.most}" step="${o.step}"`;
    const label = o.on ?
        `<label for="${id}-on" class="check"><input type="checkbox" id="${id}-on"> ${o.name}</label>` :
        `<label for="${id}">${o.name}</label>`;
    const slider = `<input type="range" id="${id}" aria-label="${o.name}" ${bounds}>`;
    const box = `<input type="number" id="${id}-number" aria-label="${o.name}, as a number" ${bounds}>`;
    const about = o.about ? `<small>${o.about}</small>` : '';
    return `<div class="option" id="${id}-option">${label}${about}${slider}${box}</div>`;
}

// The fields of an option: a list, or a slider and a box.
const fieldsOf = (o) => [$(`masking-${o.id}`), $(`masking-${o.id}-number`)].filter(Boolean);

// What somebody has typed, or a link says, of an option; undefined where it cannot have that number.
function optionNumber(o, text) {
    const x = parseNumber(text);
    return x >= o.least && x <= o.most && (o.step !== 1 || Number.isInteger(x)) ? x : undefined;
}

const masking = {
    ...PANEL, id: 'masking', grids: {}, values: { ...MASKING_AT_FIRST }, isOn: {}, show: 'weights', scores: 'random',
    invitation: 'Point at a cell, or go to it with the arrow keys: why it is hidden, or what its weight came from.',

    start() {
        const option = (o) => o.choices ? choiceHtml(o.id, o.name, o.choices) : numberHtml(o);
        $('masking-options').innerHTML = OPTIONS.map(option).join('') +
            choiceHtml('scores', 'Scores', SCORES) + choiceHtml('show', 'Show', SHOWS);
        $('masking-options').addEventListener('submit', (event) => event.preventDefault());
        for (const o of OPTIONS) this.startOption(o);
        for (const name of ['scores', 'show'])
            when('change', `masking-${name}`, (value) => this.update({ [name]: value }));
        this.grids.map = new Grid({ look: (r, c) => this.look(r, c) });
        this.grids.rows = new Grid({ look: (r) => this.look(r, null) });
        $('masking-map').replaceChildren(this.grids.map.element);
        $('masking-rows').replaceChildren(this.grids.rows.element);
    },

    startOption(o) {
        const set = (event) => this.set(o, event.target.value, event.type === 'change');
        for (const field of fieldsOf(o))
            for (const type of ['input', 'change']) field.addEventListener(type, set);
        if (!o.on) return;
        $(`masking-${o.id}-on`).addEventListener('change', (event) => {
            this.isOn[o.id] = event.target.checked;
            this.changed();
        });
    },

    set(o, text, done) {
        const x = optionNumber(o, text);
        if (x === undefined) {
            const kind = o.step === 1 ? 'whole number' : 'number', old = short(this.values[o.id]);
            notice(`${o.name}: “${text}” is no ${kind} from ${o.least} to ${o.most}; it stays ${old}.`);
            if (done) this.render();
            return;
        }
        notice('');
        this.put(o, x);
        this.changed();
    },

    put(o, x) {
        this.values[o.id] = x;
        if (o.on) this.isOn[o.id] = true;
    },

    // Lengths cannot be beyond the sizes.
    length(id, size) { return this.isOn[id] ? Math.min(this.values[id], this.values[size]) : NaN; },

    compute() {
        const { lq, lk, temperature } = this.values;
        const numbers = (seed, rows) => {
            const count = rows * KEY_SIZE, isAlike = this.scores === 'alike';
            return matrix(rows, KEY_SIZE, isAlike ? new Float64Array(count) : engine.random(count, seed, -2, 2));
        };
        const values = { ...this.values, qlen: this.length('qlen', 'lq'), kvlen: this.length('kvlen', 'lk'),
            temperature: 1 / (temperature * Math.sqrt(KEY_SIZE)) };
        const options = MASKING.map((o) => o.on && !this.isOn[o.id] ? NaN : values[o.id]);
        this.result = engine.attend(options, numbers(8, lq), numbers(6, lk), matrix(lk, 1, range(lk)));
        this.hidden = Uint8Array.from(this.result.final.values, (s) => s === -Infinity ? 1 : 0);
    },

    // Where query i stands among the keys.
    position(i) {
        const { causal, offset, lq, lk } = this.values;
        if (causal <= UPPER_LEFT) return i;
        if (causal !== LOWER_RIGHT) return i + offset;
        const qlen = this.length('qlen', 'lq'), kvlen = this.length('kvlen', 'lk');
        return i + (Number.isNaN(kvlen) ? lk : kvlen) - (Number.isNaN(qlen) ? lq : qlen);
    },

    // Query i as a word: the one that stands where it stands.
    query(i) { return wordAt(this.position(i)); },

    // Some queries, in a sentence: by word, or how many stand before the text.
    queries(all) {
        const before = all.filter((i) => this.position(i) < 0).length, others = all.slice(before);
        return listed([...(before ? [`${before} before the text`] : []), ...others.map((i) => this.query(i))]);
    },

    // Why query i does not see key j: '' if it does.
    reason(i, j) {
        const { causal, left, right } = this.values, p = this.position(i), query = this.query(i), key = wordAt(j);
        if (i >= this.length('qlen', 'lq')) return `${query} is past the valid queries`;
        if (j >= this.length('kvlen', 'lk')) return `${key} is past the valid keys`;
        if (causal !== NONE && j > p) return `${key} comes after ${query} (causal)`;
        if (this.isOn.left && j < p - left) return `${key} is more than ${left} to the left of ${query} (window)`;
        if (this.isOn.right && j > p + right) return `${key} is more than ${right} to the right of ${query} (window)`;
        return '';
    },

    // The options that are on, for the title of a picture.
    summary() {
        const { choices } = MASKING[0], { causal, temperature } = this.values;
        const rule = causal === NONE ? 'no causal rule' : `causal, ${choices[causal][1].split(':')[0]}`;
        const options = MASKING.filter((o) => o.on && this.isOn[o.id]).map((o) => `${o.name} ${this.values[o.id]}`);
        if (causal === OFFSET) options.unshift(`by ${this.values.offset}`);
        if (temperature !== 1) options.push(`Temperature ${temperature}`);
        return [rule, ...options].join('; ');
    },

    seenBy(i) { return range(this.values.lk).filter((j) => !this.hidden[i * this.values.lk + j]); },

    rule() {
        const { causal } = this.values, first = `the first query is ${this.query(0)}`;
        const other = ' Here that is also upper left: make Keys larger to see another rule.';
        const alike = this.position(0) === 0 ? other : '';
        return [
            'No causal rule: every word sees every word, what comes later, too.',
            `Causal, upper left: ${first}. ${NOBODY_LOOKS_AHEAD}`,
            'Causal, lower right: the last query is the last key, as when new words follow old ones that are kept; ' +
                `${first}.${alike} ${NOBODY_LOOKS_AHEAD}`,
            `Causal, offset: ${first}. ${NOBODY_LOOKS_AHEAD}`,
        ][causal];
    },

    rowLabels() { return range(this.values.lq).map((i) => TEXT[this.position(i)] || short(this.position(i) + 1)); },

    render() {
        if (!this.computes()) return;
        const { lq, lk } = this.values, { r, c } = this.looked || {};
        const seen = lq * lk - total(this.hidden);
        this.renderOptions();
        const blind = range(lq).filter((i) => !this.seenBy(i).length);
        const nothing = blind.length ? ` These see nothing: ${this.queries(blind)}. There is nothing to share, and the ` +
            'output is 0.' : '';
        $('masking-text').textContent = `${this.rule()} ${seen} of ${lq * lk} pairs are seen.${nothing}`;
        $('masking-explain').textContent = this.result.explain;
        this.renderMap();
        this.renderRows();
        if (this.looked && r < lq && (c === null || c < lk)) this.look(r, c);
        else this.forget();
    },

    renderMap() {
        const { lq, lk } = this.values, isWeights = this.show === 'weights';
        const shown = isWeights ? this.result.weights : this.result.final;
        this.grids.map.update({
            ...shown,
            name: isWeights ? 'Weights' : 'Scores',
            note: 'rows look at columns',
            texts: Array.from(shown.values, (x, n) => this.hidden[n] ? '' : fixed(x, 2)),
            scale: isWeights ? WEIGHTS : scaleOf(shown.values),
            hidden: this.hidden,
            rowLabels: this.rowLabels(),
            colLabels: TEXT.slice(0, lk),
        });
    },

    renderRows() {
        const { lq } = this.values, { weights, lse, output } = this.result;
        const rows = range(lq).map((r) =>
            [this.seenBy(r).length, total(rowOf(weights, r)), lse[r], output.values[r]]);
        this.grids.rows.update({
            ...matrix(lq, 4, rows.flat()),
            name: 'Each query',
            note: '',
            digits: 3,
            texts: rows.flatMap(([count, ...others]) => [String(count), ...others.map((x) => fixed(x, 3))]),
            rowLabels: this.rowLabels(),
            colLabels: ['words seen', 'sum of weights', 'log-sum-exp', 'output'],
        });
    },

    renderOptions() {
        for (const o of OPTIONS) {
            const limit = { qlen: this.values.lq, kvlen: this.values.lk }[o.id];
            const value = limit === undefined ? this.values[o.id] : Math.min(this.values[o.id], limit);
            for (const field of fieldsOf(o)) {
                if (limit !== undefined) field.max = limit;
                if (document.activeElement !== field || field.type === 'range') field.value = value;
            }
            if (!o.on) continue;
            $(`masking-${o.id}-on`).checked = Boolean(this.isOn[o.id]);
            $(`masking-${o.id}-option`).classList.toggle('off', !this.isOn[o.id]);
        }
        $('masking-offset-option').hidden = this.values.causal !== OFFSET;
        $('masking-scores').value = this.scores;
        $('masking-show').value = this.show;
    },

    look(r, c) {
        this.looked = { r, c };
        this.grids.map.mark((i) => i === r);
        this.grids.rows.mark((i) => i === r);
        if (c !== null) this.grids.map.point(r, c);
        tell('masking-sum', c === null ? this.explainRow(r) : this.explainCell(r, c));
    },

    explainRow(r) {
        const seen = this.seenBy(r), { weights, lse } = this.result;
        if (!seen.length)
            return `${this.query(r)} sees nothing: its weights and its output are 0, its log-sum-exp ${short(lse[r])}.`;
        const taken = short(1 - total(rowOf(weights, r)), 3);
        const sink = this.isOn.sink ? ` The sink takes ${taken} of its attention, and gives nothing for it.` : '';
        return `${this.query(r)} sees ${listed(seen.map(wordAt))}.${sink}`;
    },

    explainCell(r, c) {
        const n = r * this.values.lk + c, { scaled, capped, final, weights, lse } = this.result;
        const { temperature, softcap, alibi } = this.values, query = this.query(r), key = wordAt(c);
        const reason = this.reason(r, c), distance = Math.abs(this.position(r) - c);
        if (reason) return `${query} does not see ${key}: ${reason}. The weight is 0.`;
        const heat = temperature === 1 ? '' : ` ÷ ${short(temperature)}`, cap = short(softcap);
        const parts = [`score q · k ÷ √${KEY_SIZE}${heat} = ${short(scaled.values[n])}`];
        if (this.isOn.softcap) parts.push(`softcap ${cap} × tanh(… ÷ ${cap}) = ${short(capped.values[n])}`);
        if (this.isOn.alibi) parts.push(`ALiBi − ${short(alibi)} × ${distance} = ${short(final.values[n])}`);
        const power = `exp(${short(final.values[n])} − ${signed(lse[r])})`;
        return `${query} looks at ${key}: ${parts.join('; ')}. Weight: ${power} = ${short(weights.values[n])}, ` +
            `where ${short(lse[r])} is the log-sum-exp of the row. ${this.explainRow(r)}`;
    },

    picture() {
        return engine.picture(`Masking: ${this.summary()}`, [this.grids.map.content]);
    },

    write(link) {
        for (const o of OPTIONS)
            if (!o.on || this.isOn[o.id]) link.set(o.id, this.values[o.id]);
        link.set('scores', this.scores);
        link.set('show', this.show);
    },

    // What a link does not say is as at first.
    read(link) {
        this.values = { ...MASKING_AT_FIRST };
        this.isOn = {};
        for (const o of OPTIONS)
            if (link.has(o.id)) this.readOption(o, link.get(o.id));
        this.scores = choice(link, 'scores', SCORES.map(([id]) => id), 'random');
        this.show = choice(link, 'show', SHOWS.map(([id]) => id), 'weights');
    },

    readOption(o, text) {
        const x = optionNumber(o, text), said = text.slice(0, 20);
        if (x !== undefined) this.put(o, x);
        else notice(`The link’s “${o.id}”, “${said}”, is no number from ${o.least} to ${o.most}; it was left out.`);
    },
};
panels.push(masking);
