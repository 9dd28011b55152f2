// Panel 3, translation: a sentence through the bundled model, or the reader's own. This module owns the sentence, what
// it becomes, how far that is to be trusted, and what a change of heads makes of it. It knows all modules before it but
// those of other panels.

const EASY = 'It is easy to translate languages with transformers';
const BETWEEN_WORDS = /[\s.?!,;:()"“”]+/;

// Of the 400 sentences that the model was not trained on it translates 397 rightly. 393 have a score above the first
// bound; no right one is below the second. (05_translate --scores of models/train/held_out.tsv.)
const TRUST = [
    { above: -0.02, kind: 'sure', text: 'sure, as where it was right' },
    { above: -0.07, kind: 'less', text: 'less sure than nearly always where it was right' },
    { above: -Infinity, kind: 'wrong', text: 'probably wrong: no right translation scored so low' },
];

const CHANGED = { kind: 'less', text: 'its heads are changed: the score tells little' };
const UNTAUGHT = { kind: 'less', text: 'it does not know some words: the score tells little' };

// Two texts word by word: those of the longest common subsequence are in both. Returns [word, isCommon] of each.
function compareWords(before, after) {
    const [a, b] = [before, after].map((text) => text.split(/\s+/).filter(Boolean));
    const longest = range(a.length + 1).map(() => new Array(b.length + 1).fill(0));
    for (let i = a.length - 1; i >= 0; i--)
        for (let j = b.length - 1; j >= 0; j--)
            longest[i][j] = a[i] === b[j] ? longest[i + 1][j + 1] + 1 : Math.max(longest[i + 1][j], longest[i][j + 1]);
    const gone = a.map((word) => [word, false]), come = b.map((word) => [word, false]);
    for (let i = 0, j = 0; i < a.length && j < b.length;)
        if (a[i] === b[j]) gone[i++][1] = come[j++][1] = true;
        else if (longest[i + 1][j] >= longest[i][j + 1]) i++;
        else j++;
    return { gone, come };
}

// Words as HTML, those that are not common in an element of this name.
const wordsHtml = (words, name) => words.map(([word, isCommon]) =>
    isCommon ? escapeText(word) : `<${name}>${escapeText(word)}</${name}>`).join(' ');

const translation = {
    ...PANEL, ...TRANSLATION_SEARCH, ...TRANSLATION_HEADS, id: 'translation', text: EASY, beams: 4, part: 'cross',
    block: 2, head: 1, changes: null,
    model: null, // of the reader's own: { engine }
    awaited: null, // a link that was made with the other model

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
        when('click', 'translation-trust', () => {
            $('translation-bounds').open = true;
            $('translation-bounds').scrollIntoView({ block: 'nearest' });
        });
        this.startHeads();
    },

    engine() { return this.model ? this.model.engine : engine; },

    sizes() {
        if (!this.engine().sizes) this.engine().open('model');
        return this.engine().sizes;
    },

    // Another model takes the place of this one: none of its heads is changed, but by a link that waits for it.
    use(model) {
        const link = this.awaited;
        Object.assign(this, { model, changes: null, trained: null, result: null, asked: '', awaited: null });
        sayTogether(() => {
            if (link && this.isMadeWithThis(link)) this.readHeads(link);
            if (shown === this) this.changed();
        });
    },

    isMadeWithThis(link) { return (link.get('model') === 'own') === Boolean(this.model); },

    setText(text) { this.update({ text: text.slice(0, 300) }); },

    unknownWords() {
        const isKnown = (word) => this.words.has(word.toLowerCase().replace('’', '\''));
        return this.model ? [] : this.text.split(BETWEEN_WORDS).filter((word) => word && !isKnown(word));
    },

    render() {
        setField('translation-source', this.text);
        $('translation-beams').value = String(this.beams);
        for (const id of ['small', 'another', 'words', 'example', 'bounds'])
            $(`translation-${id}`).hidden = Boolean(this.model);
        this.renderUnknown();
        const guesses = 'The model was not taught some of these words: it will guess.';
        if (this.text.trim() === '') notice('The sentence is empty: there is nothing to translate.');
        else notice(this.unknownWords().length ? guesses : '');
        clearTimeout(this.busy);
        if (!this.model || this.asks() === this.asked) {
            this.renderTranslation();
            return;
        }
        $('translation-score').textContent = 'translating …'; // which may take long, and is to be seen before
        this.busy = setTimeout(() => shown === this && this.renderTranslation(), 50);
    },

    renderTranslation() {
        this.translate();
        this.renderResult();
        this.renderTokens();
        this.renderSearch();
        this.renderHeads();
    },

    // What the engine is asked for.
    asks() { return JSON.stringify([this.text, this.beams, this.changes && Array.from(this.changes)]); },

    // Unless it is there already; with heads that are changed, what the model says as it was trained, too.
    translate() {
        const asked = this.asks();
        if (asked === this.asked) return;
        const isEmpty = this.text.trim() === '', about = JSON.stringify([this.text, this.beams]);
        this.asked = asked;
        this.result = isEmpty ? null : attempt(() => {
            if (this.trained?.about !== about)
                this.trained = { about, ...this.engine().translate(this.text, this.beams) };
            return this.changes ? this.engine().translate(this.text, this.beams, this.changes) : this.trained;
        }) || null;
        if (!this.result) this.asked = '';
    },

    // The French, how far it is to be trusted, and what it is without the changes.
    renderResult() {
        const { text = '', score } = this.result || {}, isChanged = Boolean(this.result && this.changes);
        const { gone, come } = compareWords(isChanged ? this.trained.text : text, text);
        $('translation-target').innerHTML = wordsHtml(come, 'mark');
        const cut = this.result && this.result.target.at(-1) !== '</s>' ? `, cut after ${MOST_TOKENS} tokens` : '';
        $('translation-score').textContent = this.result ? `score ${short(score, 2)}${cut}` : '';
        const rated = TRUST.find(({ above }) => score > above), isUntaught = rated?.kind === 'sure' && this.unknownWords().length;
        const trust = isChanged ? CHANGED : isUntaught ? UNTAUGHT : rated;
        $('translation-trust').hidden = !this.result || Boolean(this.model);
        $('translation-trust').className = `badge ${trust?.kind}`;
        $('translation-trust').textContent = trust?.text;
        $('translation-before').hidden = !isChanged;
        if (!isChanged) return;
        const same = gone.every(([, isCommon]) => isCommon) && come.length === gone.length ? 'The same words. ' : '';
        $('translation-before').innerHTML = `${same}As trained: <span lang="fr">${wordsHtml(gone, 'del')}</span> ` +
            `<small>score ${short(this.trained.score, 2)}</small>. ` +
            (this.text === EASY && this.writeChanges() === EXAMPLE ? EXAMPLE_SAYS : '');
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
        const token = (text, n) => `<span tabindex="0" data-n="${n}">${escapeText(text)}</span>`;
        for (const [id, tokens] of [['read', source], ['written', target]])
            $(`translation-${id}`).innerHTML = tokens.map(token).join('');
    },

    picture() {
        if (!this.result) throw new Error('There is no translation to save a picture of');
        const maps = Array.from(new Set([this.head, MEAN]), (head) =>
            ({ ...this.map(head), rowName: 'looks', colName: 'is looked at' }));
        return engine.picture(`${this.text} → ${this.result.text}`, maps, 2);
    },

    write(link) {
        link.set('text', this.text);
        link.set('beams', this.beams);
        link.set('part', this.part);
        link.set('layer', this.block + 1);
        link.set('head', this.head === MEAN ? 'mean' : this.head + 1);
        if (this.changes) link.set('changed', this.writeChanges());
        if (this.model) link.set('model', 'own');
    },

    read(link) {
        const text = link.has('text') ? wellFormed(link.get('text')) : EASY;
        if (text.length > 300) notice('The link’s text is longer than 300 characters: the rest is left out.');
        this.text = text.slice(0, 300);
        this.beams = choiceOfNumber(link, 'beams', 1, 8, 4);
        this.awaited = this.isMadeWithThis(link) ? null : link;
        if (!this.awaited) this.readHeads(link);
        else if (this.model) notice('The link was made with the small model: go back to it below to see it.');
        else notice('The link was made with another model: choose its files below, or see the small model.');
    },

    // What a link says of the heads of the model that it was made with.
    readHeads(link) {
        this.part = choice(link, 'part', Object.keys(LOOKS), 'cross');
        this.block = choiceOfNumber(link, 'layer', 1, 99, 3) - 1;
        this.head = link.get('head') === 'mean' ? MEAN : choiceOfNumber(link, 'head', 1, 99, 2) - 1;
        this.readChanges(link.get('changed') || '');
    },
};
panels.push(translation);
