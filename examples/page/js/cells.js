// What the cells of a matrix are, in a table as in a picture: a colour and a place. This module owns the palettes of
// both themes, and says which colour a number has between two others, in which ink a text on it can be read, where an
// element has the row and column of a cell, and where arrow keys go from it. It knows numbers.js.

const PALETTES = {
    light: [[243, 247, 252], [189, 215, 238], [107, 174, 214], [33, 113, 181], [8, 48, 107]],
    dark: [[28, 34, 43], [25, 58, 99], [33, 98, 166], [84, 160, 230], [201, 229, 255]],
};

const themeNow = () => document.documentElement.dataset.theme;

// The colour of a level from 0 to 1, and that of text on it.
function shade(level, theme) {
    const stops = PALETTES[theme], at = clamp(level, 0, 1) * 4, n = Math.min(Math.floor(at), 3);
    const rgb = [0, 1, 2].map((i) => Math.round(stops[n][i] + (at - n) * (stops[n + 1][i] - stops[n][i])));
    const linear = rgb.map((c) => c / 255).map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    const luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
    return { rgb, fill: `rgb(${rgb.join(' ')})`, ink: luminance > 0.179 ? '#000' : '#fff' };
}

// Where a number stands between two others; NaN and what is infinite is nowhere.
const level = (x, low, high) => Number.isFinite(x) ? (high > low ? (x - low) / (high - low) : 0.5) : NaN;

function extent(values) {
    const finite = Array.from(values).filter(Number.isFinite);
    return finite.length ? [Math.min(...finite), Math.max(...finite)] : [0, 1];
}

// The row and the column of a cell, which its element has as data.
const placeOf = ({ dataset }) => [Number(dataset.r), Number(dataset.c)];

// How many rows and columns a key goes.
const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
