// A matrix on the page, as a table. This module owns the table's HTML, what pointer and keys do in it, and which cells
// are marked; what a cell means, and what a change of it brings about, is up to the panel. It knows numbers.js and
// cells.js.

// What may become a number with the next key.
const isUnfinished = (text) => /^\s*[-+−]?\d*[.,]?\d*(e[-+−]?)?\s*$/i.test(text) ||
    ['infinity', 'nan'].some((word) => word.startsWith(text.trim().replace(/^[-+−]/, '').toLowerCase()));

//   content: { name, note, rows, cols, texts, values, rowLabels, colLabels, scale, hidden, editable, chosenRow, until,
//              plain, framed }, and what engine.js needs to draw it
// scale: of colours, or none. until: so many cells have a number yet. plain: small cells without texts, under labels
// that are turned. framed(r, c): whether a cell has a frame. on.look(r, c) is told what is looked at; on.edit(r, c,
// text) what is typed; on.choose(r, c) what is clicked.
class Grid {
    constructor(on = {}) {
        this.on = on;
        this.element = document.createElement('figure');
        this.element.className = 'matrix';
        this.element.addEventListener('pointerover', (event) => this.look(event.target));
        this.element.addEventListener('focusin', (event) => this.look(event.target));
        this.element.addEventListener('keydown', (event) => this.key(event));
        this.element.addEventListener('click', (event) => this.choose(event.target));
        this.element.addEventListener('input', (event) => this.type(event.target, false));
        this.element.addEventListener('change', (event) => this.type(event.target, true));
    }

    update(content) {
        const { rows, cols, editable, rowLabels, colLabels, name, note, plain, scale, hidden } = content;
        const shape = JSON.stringify([rows, cols, Boolean(editable), rowLabels, colLabels, name, note, plain]);
        this.content = content;
        if (shape !== this.shape) this.build();
        this.shape = shape;
        const longest = (texts) => Math.max(0, ...texts.map((t) => Array.from(t).length));
        this.widths = { box: Math.max(longest(content.texts), 0.85 * longest(colLabels)), head: longest(rowLabels) };
        this.setWidths(this.widths);
        for (let r = 0; r < content.rows; r++)
            for (let c = 0; c < content.cols; c++) this.paint(r, c);
        this.element.lastElementChild.innerHTML = scale ? legendHtml(scale, Boolean(hidden && hidden.some(Boolean))) : '';
    }

    // How many characters cells and the names of rows have room for: where matrices stand in columns, as many in each.
    setWidths({ box, head }) {
        if (this.content.plain) return;
        this.element.style.setProperty('--box', `${Math.max(4, box)}ch`);
        this.element.style.setProperty('--head', `${head + 1}ch`);
    }

    build() {
        const { name, note, rows, cols, rowLabels, colLabels, plain } = this.content;
        const heads = colLabels.map((label) => `<th scope="col"><span>${escapeText(label)}</span></th>`).join('');
        const row = (r) => `<tr><th scope="row">${escapeText(rowLabels[r])}</th>` +
            `${range(cols).map((c) => this.cellHtml(r, c)).join('')}</tr>`;
        const size = `${rows} × ${cols}${note ? `, ${escapeText(note)}` : ''}`;
        this.element.classList.toggle('plain', Boolean(plain));
        this.element.innerHTML = `<figcaption>${escapeText(name)} <small>${size}</small></figcaption>
            <div class="scroll"><table role="grid" aria-label="${escapeText(name)}, ${rows} rows, ${cols} columns">
            <thead><tr><td></td>${heads}</tr></thead>
            <tbody>${range(rows).map(row).join('')}</tbody>
            </table></div><p class="legend" aria-hidden="true"></p>`;
        this.cells = Array.from(this.element.querySelectorAll('[data-r]'));
    }

    // The HTML of a cell: a box to type into, or a text that paint() fills in.
    cellHtml(r, c) {
        const { name, rowLabels, colLabels, editable } = this.content;
        const at = `data-r="${r}" data-c="${c}" tabindex="${r + c === 0 ? 0 : -1}"`;
        if (!editable) return `<td role="gridcell" ${at}></td>`;
        const label = escapeText(`${name}, ${rowLabels[r]}, ${colLabels[c]}`);
        const box = `<input ${at} type="text" size="1" inputmode="decimal" autocomplete="off" aria-label="${label}">`;
        return `<td class="boxed" role="gridcell">${box}</td>`;
    }

    cell(r, c) { return this.cells[r * this.content.cols + c]; }

    paint(r, c) {
        const { cols, texts, values, scale, hidden, editable, chosenRow, until, plain, framed } = this.content;
        const cell = this.cell(r, c), n = r * cols + c;
        const isHidden = Boolean(hidden && hidden[n]), isThere = until === undefined || n < until;
        const rgb = scale && isThere && !isHidden ? shade(values[n], scale, themeNow()) : null;
        cell.style.background = rgb ? css(rgb) : '';
        cell.style.color = rgb ? inkOn(rgb) : '';
        if (editable) {
            if (document.activeElement !== cell || cell.getAttribute('aria-invalid') !== 'true') {
                if (document.activeElement !== cell || parseNumber(cell.value) !== values[n])
                    cell.value = isThere ? texts[n] : '';
                cell.removeAttribute('aria-invalid');
            }
            return;
        }
        cell.textContent = isThere && !plain ? texts[n] : '';
        cell.classList.toggle('hidden-key', isHidden && isThere);
        cell.classList.toggle('chosen', r === chosenRow);
        cell.classList.toggle('framed', Boolean(framed && framed(r, c)));
        if (isHidden || plain) cell.setAttribute('aria-label', `${isHidden ? 'hidden ' : ''}${texts[n]}`);
        else cell.removeAttribute('aria-label');
    }

    // Marks the cells (r, c) for which is(r, c), and none as the one that is looked at.
    mark(is) {
        for (const cell of this.cells) {
            const { classList } = cell.closest('td');
            classList.toggle('source', is(...placeOf(cell)));
            classList.remove('looked');
        }
    }

    // Marks the cell that is looked at.
    point(r, c) { this.cell(r, c).closest('td').classList.add('looked'); }

    look(target) {
        const cell = target.closest('[data-r]');
        if (cell && this.on.look) this.on.look(...placeOf(cell));
    }

    choose(target) {
        const cell = target.closest('[data-r]');
        if (cell && this.on.choose) this.on.choose(...placeOf(cell));
    }

    // What is typed, once it is a number; what may become one is an error only where it is left so.
    type(target, done) {
        if (target.dataset.r === undefined) return;
        const [r, c] = placeOf(target), { value } = target;
        const isNumber = parseNumber(value) !== undefined, isWrong = !isNumber && !isUnfinished(value);
        if (isWrong && !done) target.setAttribute('aria-invalid', 'true');
        else target.removeAttribute('aria-invalid');
        if (!isNumber && done) target.value = this.content.texts[r * this.content.cols + c];
        if (isNumber || isWrong || done) this.on.edit(r, c, value);
    }

    // Arrow keys, Home and End go from cell to cell. In a box, left and right do so at the ends of its text.
    key(event) {
        const cell = event.target.closest('[data-r]');
        if (!cell || event.ctrlKey || event.altKey || event.metaKey) return;
        const move = event.key === 'Enter' ? [1, 0] : ARROWS[event.key];
        const { rows, cols } = this.content, inBox = cell.tagName === 'INPUT';
        let [r, c] = placeOf(cell);
        if (event.key === 'Enter' && !inBox && this.on.choose) {
            this.on.choose(r, c);
        } else if (move) {
            const length = (cell.value || '').length;
            const within = event.key === 'ArrowLeft' ? cell.selectionStart > 0 : cell.selectionEnd < length;
            if (inBox && move[1] && within) return;
            r += move[0];
            c += move[1];
        } else if (!inBox && (event.key === 'Home' || event.key === 'End')) {
            c = event.key === 'Home' ? 0 : cols - 1;
        } else {
            return;
        }
        event.preventDefault();
        if (r < 0 || c < 0 || r >= rows || c >= cols) return;
        this.cells.forEach((other) => { other.tabIndex = -1; });
        this.cell(r, c).tabIndex = 0;
        this.cell(r, c).focus();
    }
}
