// Pictures beside the tables: maps of weights on a canvas, lines between words, and several SVGs as one. What is saved
// is drawn by show.h, in the engine. It knows numbers.js and cells.js.

// Draws a map, { rows, cols, values, scale, hidden, framed }, with cells of so many pixels. framed(r, c): whether a cell
// has a frame; at: [row, column] of the cell that is looked at.
function drawMap(canvas, map, side = 1, at = null) {
    const theme = themeNow(), context = canvas.getContext('2d'), edge = side > 4 ? 1 : 0;
    canvas.width = map.cols * side, canvas.height = map.rows * side;
    for (let r = 0; r < map.rows; r++)
        for (let c = 0; c < map.cols; c++) {
            const n = r * map.cols + c, isHidden = map.hidden && map.hidden[n];
            const rgb = isHidden ? HIDDEN[theme] : shade(map.values[n], map.scale, theme);
            if (!rgb) continue;
            context.fillStyle = css(rgb);
            context.fillRect(c * side, r * side, side - edge, side - edge);
            if (!isHidden || !edge) continue;
            context.strokeStyle = css(HIDDEN[theme === 'dark' ? 'light' : 'dark'].map((x) => (x + 128) >> 1));
            context.lineWidth = 0.5;
            context.beginPath();
            context.moveTo(c * side + 1, (r + 1) * side - 2);
            context.lineTo((c + 1) * side - 2, r * side + 1);
            context.stroke();
        }
    const style = getComputedStyle(document.documentElement);
    const frame = (r, c, colour, width) => {
        context.strokeStyle = style.getPropertyValue(colour);
        context.lineWidth = width;
        context.strokeRect(c * side + 0.5, r * side + 0.5, side - 2, side - 2);
    };
    if (map.framed)
        for (let n = 0; n < map.rows * map.cols; n++)
            if (map.framed(Math.floor(n / map.cols), n % map.cols))
                frame(Math.floor(n / map.cols), n % map.cols, '--source', 1.5);
    if (at) frame(...at, '--accent', 3);
}

// Lets a canvas whose content is map() tell(r, c) what is pointed at, or gone to with the arrow keys.
function pointable(canvas, map, tell) {
    let at = [0, 0];
    const say = (r, c) => {
        const { rows, cols } = map();
        at = [clamp(r, 0, rows - 1), clamp(c, 0, cols - 1)];
        tell(...at);
    };
    canvas.tabIndex = 0;
    canvas.setAttribute('role', 'img');
    canvas.addEventListener('pointermove', (event) => {
        const box = canvas.getBoundingClientRect(), { rows, cols } = map();
        say(Math.floor((event.clientY - box.top) / box.height * rows),
            Math.floor((event.clientX - box.left) / box.width * cols));
    });
    canvas.addEventListener('focus', () => say(...at));
    canvas.addEventListener('keydown', (event) => {
        const move = ARROWS[event.key];
        if (!move) return;
        event.preventDefault();
        say(at[0] + move[0], at[1] + move[1]);
    });
}

const textWidth = (text, size = 13) => Math.ceil(Array.from(text).length * size * 0.62);

const LINES = { narrow: 480, steps: [16, 18], leastGap: 120, mostGap: 320, thin: 1, thick: 8 };

// Words to the left and to the right, and a line for each weight between them: { rows, cols, values, hidden, rowLabels,
// colLabels }, in a picture of at most this width, if they have room there.
function linesHtml(map, most) {
    const { narrow, steps, leastGap, mostGap, thin, thick } = LINES, step = steps[most < narrow ? 0 : 1];
    const widest = (labels) => Math.max(...labels.map((label) => textWidth(label, 14))) + 12;
    const left = widest(map.rowLabels), right = widest([...map.colLabels, 'is looked at']);
    const gap = clamp(most - left - right, leastGap, mostGap), width = left + gap + right;
    const height = step * (Math.max(map.rows, map.cols) + 1);
    const y = (i, count) => step * (i + 1.5) + (height - step * (count + 1)) / 2;
    const lines = range(map.rows * map.cols).filter((n) => !(map.hidden && map.hidden[n]) && map.values[n] > 0);
    const line = (n) => {
        const r = Math.floor(n / map.cols), c = n % map.cols, weight = Math.min(map.values[n], 1);
        const from = `${left} ${y(r, map.rows)}`, to = `${left + gap} ${y(c, map.cols)}`, bend = left + gap / 2;
        const way = `M${from}C${bend} ${y(r, map.rows)} ${bend} ${y(c, map.cols)} ${to}`;
        const size = (thin + (thick - thin) * weight).toFixed(2), dark = (0.06 + 0.94 * Math.sqrt(weight)).toFixed(3);
        return `<path data-from="${r}" data-to="${c}" stroke-width="${size}" opacity="${dark}" d="${way}"/>`;
    };
    const words = (labels, side, x, anchor) => labels.map((label, i) => {
        const name = `${label}, ${side === 'from' ? 'which looks' : 'which is looked at'}`;
        return `<g class="word" tabindex="0" role="img" aria-label="${escapeText(name)}" data-${side}="${i}">` +
            `<rect x="${side === 'from' ? 0 : x - 8}" y="${y(i, labels.length) - step / 2}" height="${step}" ` +
            `width="${side === 'from' ? left : right}"/>` +
            `<text x="${x}" y="${y(i, labels.length) + 5}" text-anchor="${anchor}">${escapeText(label)}</text></g>`;
    });
    return `<svg class="lines" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="group" ` +
        `aria-label="Who looks at whom: a line for each weight">` +
        `<text class="side" x="${left - 8}" y="14" text-anchor="end">looks</text>` +
        `<text class="side" x="${left + gap + 8}" y="14">is looked at</text><g>${lines.map(line).join('')}</g>` +
        words(map.rowLabels, 'from', left - 8, 'end').join('') +
        words(map.colLabels, 'to', left + gap + 8, 'start').join('') + '</svg>';
}

// Shows lines between words in an element; a word that is pointed at, or has the focus, keeps its own alone.
// tell(side, i): which word that is; tell(): none.
function showLines(holder, map, tell) {
    const html = linesHtml(map, holder.clientWidth - 8), isNew = !holder.tellLines;
    holder.tellLines = tell;
    if (holder.shownLines !== html) holder.innerHTML = holder.shownLines = html;
    if (!isNew) return;
    const alone = (word) => {
        const { from, to } = word ? word.dataset : {};
        for (const path of holder.querySelectorAll('path')) {
            const isHers = from === undefined ? path.dataset.to === to : path.dataset.from === from;
            path.style.display = !word || isHers ? '' : 'none';
        }
        if (!word) holder.tellLines();
        else if (from === undefined) holder.tellLines('to', Number(to));
        else holder.tellLines('from', Number(from));
    };
    for (const type of ['pointerover', 'focusin'])
        holder.addEventListener(type, (event) => alone(event.target.closest('.word')));
    for (const type of ['pointerleave', 'focusout']) holder.addEventListener(type, () => alone(null));
}

// Several pictures as one, each below the one before.
function stackedSvg(title, pictures) {
    let y = 0, widest = 0;
    const parts = pictures.map((svg) => {
        const [, width, height] = svg.match(/width="(\d+)" height="(\d+)"/), at = y;
        y += Number(height);
        widest = Math.max(widest, Number(width));
        return svg.replace('<svg ', `<svg y="${at}" `);
    });
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${widest}" height="${y}" viewBox="0 0 ${widest} ${y}" ` +
        `role="img"><title>${escapeText(title)}</title><rect width="100%" height="100%" fill="#fff"/>${parts.join('')}` +
        '</svg>\n';
}
