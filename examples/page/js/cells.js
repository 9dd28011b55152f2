// What the cells of a matrix are, in a table as in a picture: a colour and a place. This module owns the two scales,
// one for all weights and one for other numbers, with their colours in both themes and their legends; it says in which
// ink a text on a colour can be read, where an element has the row and column of a cell, and where arrow keys go from
// it. It knows numbers.js.

// Weights go from nothing to full; other numbers from the least through the ground's own colour at 0.
const RAMPS = {
    weights: {
        light: [[243, 247, 252], [189, 215, 238], [107, 174, 214], [33, 113, 181], [8, 48, 107]],
        dark: [[28, 34, 43], [25, 58, 99], [33, 98, 166], [84, 160, 230], [201, 229, 255]],
    },
    numbers: {
        light: [[166, 70, 0], [244, 165, 82], [255, 255, 255], [169, 157, 212], [76, 36, 124]],
        dark: [[255, 178, 102], [141, 78, 22], [28, 34, 43], [86, 66, 148], [203, 184, 255]],
    },
};
const HIDDEN = { light: [223, 227, 232], dark: [52, 59, 69] }; // and hatched

// The one scale of weights, whose colours follow the square root, so that small weights are seen.
const WEIGHTS = { ramp: 'weights', low: 0, high: 1 };

// The scale of other numbers: as far to the left of 0 as to the right of it.
function scaleOf(values) {
    const most = Array.from(values).filter(Number.isFinite).reduce((a, x) => Math.max(a, Math.abs(x)), 0);
    return { ramp: 'numbers', low: -most || -1, high: most || 1 };
}

const themeNow = () => document.documentElement.dataset.theme;

// Where a number stands on a scale, from 0 to 1; NaN and what is infinite is nowhere.
function level(x, scale) {
    if (!Number.isFinite(x)) return NaN;
    const part = clamp(x / 2 / scale.high + (scale.low < 0 ? 0.5 : x / 2 / scale.high), 0, 1);
    return scale.ramp === 'weights' ? Math.sqrt(part) : part;
}

const css = (rgb) => `rgb(${rgb.join(' ')})`;

// Black or white, whichever can be read on this colour.
function inkOn(rgb) {
    const linear = rgb.map((c) => c / 255).map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] > 0.179 ? '#000' : '#fff';
}

// The colour of a number on a scale; null where it has none.
function shade(x, scale, theme) {
    const at = 4 * level(x, scale);
    if (Number.isNaN(at)) return null;
    const stops = RAMPS[scale.ramp][theme], n = Math.min(Math.floor(at), 3);
    return [0, 1, 2].map((i) => Math.round(stops[n][i] + (at - n) * (stops[n + 1][i] - stops[n][i])));
}

// The legend beside a map: some numbers in their colours, and what is hidden.
function legendHtml(scale, hasHidden) {
    const cell = (x) => {
        const rgb = shade(x, scale, themeNow());
        return `<i style="background:${css(rgb)};color:${inkOn(rgb)}">${short(x, 2)}</i>`;
    };
    const { low, high } = scale, numbers = scale.ramp === 'weights' ? [0, 0.01, 0.1, 0.5, 1] :
        [low, low / 2, 0, high / 2, high];
    return numbers.map(cell).join('') + (hasHidden ? '<i class="hidden-key">hidden</i>' : '');
}

// The row and the column of a cell, which its element has as data.
const placeOf = ({ dataset }) => [Number(dataset.r), Number(dataset.c)];

// How many rows and columns a key goes.
const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
