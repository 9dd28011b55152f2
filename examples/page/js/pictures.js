// SVG: what large matrices are on the page, and what every picture is when it is saved. This module owns heatmaps, line
// charts, and the sheet that puts several pictures together. It knows numbers.js and cells.js.

const SVG = {
    font: 13,
    family: "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif",
    light: { ground: '#fff', ink: '#1a2029', quiet: '#56606e', line: '#ccd3dc' },
    dark: { ground: '#12161c', ink: '#e6eaf0', quiet: '#a3adba', line: '#3a4452' },
    lines: ['#c2571a', '#2171b5'],
    darkLines: ['#ff9d5c', '#7db8f5'],
};

function svgText(x, y, text, more = '') {
    return `<text x="${x}" y="${y}" ${more}>${escapeText(text)}</text>`;
}

// The title of a picture, or of a part of it.
const svgTitle = (x, y, text, size, { ink }) =>
    svgText(x, y, text, `font-size="${size}" font-weight="600" fill="${ink}"`);

// The attributes of a text in the middle of something.
const middle = (fill) => `text-anchor="middle" fill="${fill}"`;

// A text that runs upwards.
function svgTurned(x, y, text, more) {
    return `<g transform="translate(${x} ${y}) rotate(-90)">${svgText(0, 0, text, more)}</g>`;
}

// The attributes that every picture has.
const svgSize = (width, height) =>
    `width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-size="${SVG.font}" role="img"`;

// A picture for the page, which a screen reader calls `label`.
const svgElement = ({ svg, width, height }, label, more = '') =>
    `<svg ${svgSize(width, height)} ${more} aria-label="${escapeText(label)}">${svg}</svg>`;

const textWidth = (text, font = SVG.font) => Math.ceil(Array.from(text).length * font * 0.62);

// Where the parts of a heatmap are. Cells are as large as their texts need, or `side` without.
function heatmapLayout(map) {
    const cellHeight = map.side || 30;
    const cellWidth = map.side ||
        Math.max(36, ...map.texts.map((t) => textWidth(t) + 12), ...map.colLabels.map((t) => textWidth(t) + 8));
    const left = Math.max(...map.rowLabels.map((t) => textWidth(t))) + 12 + (map.rowName ? 20 : 0);
    const turned = !map.texts && map.colLabels.some((t) => t.length > 1);
    const headHeight = turned ? Math.max(...map.colLabels.map((t) => textWidth(t))) + 8 : 22;
    const top = (map.title ? 26 : 0) + (map.colName ? 20 : 0) + headHeight;
    const titleWidth = map.title ? textWidth(map.title, 15) + 8 : 0;
    const width = Math.max(left + map.cols * cellWidth + 8, titleWidth), height = top + map.rows * cellHeight + 8;
    return { cellWidth, cellHeight, left, top, turned, width, height };
}

// The title of a heatmap, and what its rows and columns are.
function heatmapLabels(map, { cellWidth, cellHeight, left, top, turned }, theme) {
    const ink = SVG[theme], parts = [];
    if (map.title) parts.push(svgTitle(0, 16, map.title, 15, ink));
    if (map.colName) parts.push(svgText(left, (map.title ? 26 : 0) + 14, `${map.colName} →`, `fill="${ink.quiet}"`));
    if (map.rowName) parts.push(svgTurned(12, top + map.rows * cellHeight / 2, `← ${map.rowName}`, middle(ink.quiet)));
    map.colLabels.forEach((label, c) => {
        const x = left + (c + 0.5) * cellWidth;
        parts.push(turned ? svgTurned(x + 4, top - 6, label, `fill="${ink.ink}"`) :
            svgText(x, top - 7, label, middle(ink.quiet)));
    });
    map.rowLabels.forEach((label, r) => {
        const y = top + (r + 0.5) * cellHeight + 4.5, colour = map.texts ? ink.quiet : ink.ink;
        parts.push(svgText(left - 8, y, label, `text-anchor="end" fill="${colour}"`));
    });
    return parts.join('');
}

// The nth cell of a heatmap.
function heatmapCell(map, { cellWidth, cellHeight, left, top }, n, theme) {
    const ink = SVG[theme], r = Math.floor(n / map.cols), c = n % map.cols;
    const x = left + c * cellWidth, y = top + r * cellHeight;
    const hidden = map.hidden && map.hidden[n], at = level(map.values[n], map.low, map.high);
    const colour = map.low === undefined || hidden || Number.isNaN(at) ? null : shade(at, theme);
    if (hidden && !map.texts) return '';
    const size = `width="${cellWidth - 1}" height="${cellHeight - 1}"`;
    const paint = colour ? `fill="${colour.fill}" stroke="none"` : `fill="none" stroke="${ink.line}"`;
    const place = map.side ? ` data-r="${r}" data-c="${c}"` : '';
    const parts = [`<rect x="${x}" y="${y}" ${size} ${paint}${place}/>`];
    if (hidden) parts.push(`<path stroke="${ink.line}" d="M${x} ${y + cellHeight}L${x + cellWidth} ${y}"/>`);
    if (map.texts) {
        const text = middle(colour ? colour.ink : ink.ink);
        parts.push(svgText(x + cellWidth / 2, y + cellHeight / 2 + 4.5, map.texts[n], text));
    }
    return parts.join('');
}

// A heatmap: { title, rows, cols, values, texts, rowLabels, colLabels, rowName, colName, low, high, hidden, side }.
// Returns { svg, width, height }.
function svgHeatmap(map, theme) {
    const layout = heatmapLayout(map);
    const cells = range(map.rows * map.cols).map((n) => heatmapCell(map, layout, n, theme));
    return {
        svg: heatmapLabels(map, layout, theme) + cells.join(''),
        width: Math.ceil(layout.width),
        height: Math.ceil(layout.height),
    };
}

// Lines over a common axis from 0: { title, names, lines: arrays of numbers, xHigh, yHigh, xName, width }.
function svgLines(chart, theme) {
    const ink = SVG[theme], left = 44, top = 30, { width } = chart, height = 200, right = 130;
    const colours = theme === 'dark' ? SVG.darkLines : SVG.lines, parts = [];
    const x = (i) => (left + width * i / chart.xHigh).toFixed(1);
    const y = (v) => (top + height * (1 - Math.min(v, chart.yHigh) / chart.yHigh)).toFixed(1);
    parts.push(svgTitle(left, 16, chart.title, 15, ink));
    for (let v = 0; v <= chart.yHigh; v++) {
        parts.push(`<path stroke="${ink.line}" d="M${left} ${y(v)}H${left + width}"/>`);
        parts.push(svgText(left - 8, Number(y(v)) + 4.5, String(v), `text-anchor="end" fill="${ink.quiet}"`));
    }
    for (let i = 0; i <= chart.xHigh; i += chart.xHigh / 5)
        parts.push(svgText(x(i), top + height + 18, String(i), middle(ink.quiet)));
    parts.push(svgText(left + width / 2, top + height + 38, chart.xName, middle(ink.quiet)));
    const ends = chart.lines.map((line, n) =>
        line.length ? Number(y(line[line.length - 1])) + 4.5 : top + 20 * (n + 1));
    if (Math.abs(ends[0] - ends[1]) < 16) ends[ends[0] > ends[1] ? 0 : 1] = Math.min(...ends) + 16; // side by side
    chart.lines.forEach((line, n) => {
        const path = line.map((v, i) => `${i ? 'L' : 'M'}${x(i + 1)} ${y(v)}`).join('');
        if (line.length > 1) parts.push(`<path fill="none" stroke-width="2" stroke="${colours[n]}" d="${path}"/>`);
        parts.push(svgText(left + width + 8, ends[n], chart.names[n], `fill="${colours[n]}"`));
    });
    return { svg: parts.join(''), width: left + width + right, height: top + height + 46 };
}

// A matrix that the page shows as a table: the content of a Grid.
const svgMatrix = (content, theme) =>
    svgHeatmap({ ...content, title: content.note ? `${content.name} (${content.note})` : content.name }, theme);

// A picture of several parts, in rows no wider than `most`.
function svgDocument(title, parts, theme, most = 1100) {
    let x = 16, y = 48, tallest = 0, width = textWidth(title, 18) + 32;
    const placed = parts.map((part) => {
        if (x > 16 && x + part.width > most) x = 16, y += tallest + 20, tallest = 0;
        const at = `<g transform="translate(${x} ${y})">${part.svg}</g>`;
        x += part.width + 24;
        width = Math.max(width, x);
        tallest = Math.max(tallest, part.height);
        return at;
    });
    const height = y + tallest + 16, ink = SVG[theme];
    const head = svgTitle(16, 30, title, 18, ink);
    return `<svg xmlns="http://www.w3.org/2000/svg" ${svgSize(width, height)} font-family="${SVG.family}">` +
        `<title>${escapeText(title)}</title><rect width="100%" height="100%" fill="${ink.ground}"/>` +
        `${head}${placed.join('')}</svg>\n`;
}

// A heatmap on the page whose cells tell what they are: by pointer, or by arrow keys once it has the focus.
function showPicture(holder, map, label, tell) {
    const picked = holder.chosen, isThere = picked && picked.r < map.rows && picked.c < map.cols;
    const chosen = isThere ? picked : { r: 0, c: 0 };
    const hadFocus = holder.contains(document.activeElement);
    holder.innerHTML = svgElement(svgHeatmap(map, themeNow()), label, 'class="picture" tabindex="0"');
    const picture = holder.firstElementChild;
    const say = (r, c) => { holder.chosen = { r, c }; tell(r, c); };
    picture.addEventListener('pointerover', (event) => {
        if (event.target.dataset.r !== undefined) say(...placeOf(event.target));
    });
    picture.addEventListener('keydown', (event) => {
        const move = ARROWS[event.key];
        if (!move) return;
        event.preventDefault();
        const at = holder.chosen || chosen;
        say(clamp(at.r + move[0], 0, map.rows - 1), clamp(at.c + move[1], 0, map.cols - 1));
    });
    picture.addEventListener('focus', () => say(chosen.r, chosen.c));
    if (hadFocus) picture.focus();
}
