// Panel 1, step by step: what it begins with, and what it says. This module owns the matrices of the notebooks, how
// words become numbers, and the texts of the steps; nothing here changes. It knows numbers.js and engine.js.

const MOST_ROWS = 12, MOST_COLS = 8;
const of = (...rows) => matrix(rows.length, rows[0].length, rows.flat());

// The numbers of the five notebooks. digits: so many are shown at first; printed: so many the notebook prints, if not
// those.
const INPUTS = {
    x: of([1, 0, 1, 0], [0, 2, 0, 2], [1, 1, 1, 1]), wq: of([1, 0, 1], [1, 0, 0], [0, 0, 1], [0, 1, 1]),
    wk: of([0, 0, 1], [1, 1, 0], [0, 1, 0], [1, 1, 0]), wv: of([0, 2, 0], [0, 3, 0], [1, 0, 3], [1, 1, 0]),
    type: 'f64', digits: 8, scale: '1', labels: named('input', 3),
};
const WORDS = of([0.43, 0.15, 0.89], [0.55, 0.87, 0.66], [0.57, 0.85, 0.64], [0.22, 0.58, 0.33], [0.77, 0.25, 0.1],
    [0.05, 0.8, 0.55]);
const ANNOTATIONS = of([3, 12, 45], [59, 2, 5], [1, 43, 5], [4, 3, 45.3]);
const PRESETS = {
    '004': { name: 'Six words', type: 'f32', digits: 2, printed: 4, scale: '1',
        labels: ['Your', 'journey', 'starts', 'with', 'one', 'step'], q: WORDS, k: WORDS, v: WORDS },
    '000': { name: 'Three inputs: the book’s numbers', ...INPUTS },
    '001': { name: 'Three inputs: the same, told again', ...INPUTS },
    '002': { name: 'Four words, in whole numbers',
        type: 'f32', digits: 8, scale: '', labels: named('word', 4),
        x: of([0, 1, 1, 2], [1, 0, 0, 2], [1, 1, 0, 2], [2, 1, 1, 1]),
        wq: of([1, 1, 0, 0], [0, 0, 2, 2], [1, 2, 2, 2], [0, 0, 2, 2]),
        wk: of([1, 1, 0, 2], [1, 1, 2, 0], [2, 1, 0, 2], [0, 0, 0, 1]),
        wv: of([1, 2, 1, 1], [1, 2, 0, 1], [0, 0, 2, 0], [2, 1, 1, 2]) },
    '003': { name: 'A decoder and four notes of what it read',
        type: 'f64', digits: 8, scale: '1', labels: ['decoder'],
        keyLabels: named('step', 4), q: of([5, 1, 20]), k: ANNOTATIONS, v: ANNOTATIONS },
};
const FIRST = { preset: '004', stage: 'weights' };
// What is typed where everything comes from inputs, and where Q, K and V themselves are typed.
const PROJECTIONS = ['wq', 'wk', 'wv'], OF_INPUTS = ['x', ...PROJECTIONS], QKV = ['q', 'k', 'v'];
const GIVEN = [...OF_INPUTS, ...QKV];
const SENTENCE = 'sentence', OWN = 'own';
const OF_SCORES = ['product', 'scaled', 'masked', 'weights'];

// Numbers for a sentence: each word has `size` of its own, always the same; the weights are from a seed, and smaller
// the more there are of them.
function numbersOfSentence(words, size = 4) {
    const tenths = (m) => m.map((x) => Math.round(10 * x) / 10), most = 6 / size;
    const weights = (seed) => matrix(size, size, tenths(engine.random(size * size, seed, -most, most)));
    const numbers = words.flatMap((word) => Array.from(tenths(engine.random(size, hash(word), -2, 2))));
    return { type: 'f32', digits: 2, scale: '', labels: words, wq: weights(11), wk: weights(22), wv: weights(33),
        x: matrix(words.length, size, numbers) };
}

const STAGES = [
    { id: 'inputs', name: 'Inputs', title: 'Inputs and matrices',
        what: 'Words as numbers, and three matrices.',
        text: 'Each row of x is a word, or another thing to be looked at, as numbers. Three matrices turn it into a ' +
            'query, a key and a value. In a model they are learned. Nothing here tells where a word stands: models add ' +
            'that to its numbers.' },
    { id: 'qkv', name: 'Q, K, V', title: 'Queries, keys, values',
        what: 'Each word gets a query, a key and a value.',
        text: 'Each word has three rows of numbers: a query (what it looks for), a key (what it can be found by) and a ' +
            'value (what it gives). In a model, Q = x Wq, K = x Wk and V = x Wv. All that follows needs these three ' +
            'alone.' },
    { id: 'product', name: 'Scores', title: 'Scores: Q Kᵀ',
        what: 'How well does each query fit each key?',
        text: 'Each query is multiplied with each key, number by number, and the products are added up: a score. It is ' +
            'high where both have large numbers of the same sign in the same places.' },
    { id: 'scaled', name: 'Scale', title: 'Scale: divide every score',
        what: 'Scores are made smaller.',
        text: 'Long keys make large scores. Divided by the square root of the key’s size they stay moderate, and ' +
            'no single word takes nearly everything.' },
    { id: 'masked', name: 'Mask', title: 'Mask: hide what may not be seen',
        what: 'Later words are hidden.',
        text: 'Causal: a word sees itself and what came before, not what comes later. A model that writes word by ' +
            'word does not have the later words yet, and in training it could simply copy them. A hidden score ' +
            'becomes −∞, whose exponential is 0.' },
    { id: 'weights', name: 'Softmax', title: 'Scores become weights',
        what: 'A weight is a share: how much of a word goes into what another becomes.',
        text: 'A row is the word that looks; it takes so much from the word of each column, and its weights add up ' +
            'to 1. Softmax makes them of scores: the exponential of each, divided by the sum of its row. The largest ' +
            'score of the row is taken off first, so that nothing overflows.' },
    { id: 'weighted', name: 'Weighted values', title: 'Weighted values',
        what: 'Each value, times its weight.',
        text: 'One query at a time: each row of V times its weight in the row of that query (⊙). Click a row of the ' +
            'weights to choose the query.' },
    { id: 'output', name: 'Output', title: 'Output: the weighted values added up',
        what: 'What each word becomes: a mix of the values.',
        text: 'Each query gets the sum of all values, each as much as its weight says. Where one weight is nearly 1, ' +
            'the output is nearly that value.' },
];

const TITLES = {
    x: 'x', wq: 'Wq', wk: 'Wk', wv: 'Wv', q: 'Q', k: 'K', kt: 'Kᵀ', v: 'V',
    product: 'Scores', scaled: 'Scaled scores', masked: 'Masked scores',
    weights: 'Weights', weighted: 'Weighted values', output: 'Output',
};
