// A matrix on the page, as a table. This module owns the table's HTML, what pointer and keys do in it, and which cells
// are marked; what a cell means, and what a change of it brings about, is up to the panel. It knows numbers.js and
// cells.js.

//   content: { name, note, rows, cols, texts, values, rowLabels, colLabels, low, high, hidden, editable, chosenRow }
// on.look(r, c) is told what is looked at; on.edit(r, c, text) what is typed; on.choose(r) which row is clicked.
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
        const { rows, cols, editable, rowLabels, colLabels, name, note } = content;
        const shape = JSON.stringify([rows, cols, Boolean(editable), rowLabels, colLabels, name, note]);
        this.content = content;
        if (shape !== this.shape) this.build();
        this.shape = shape;
        this.element.style.setProperty('--box', `${Math.max(3, ...content.texts.map((t) => t.length)) + 2}ch`);
        for (let r = 0; r < content.rows; r++)
            for (let c = 0; c < content.cols; c++) this.paint(r, c);
    }

    build() {
        const { name, note, rows, cols, rowLabels, colLabels } = this.content;
        const heads = colLabels.map((label) => `<th scope="col">${escapeText(label)}</th>`).join('');
        const row = (r) => `<tr><th scope="row">${escapeText(rowLabels[r])}</th>` +
            `${range(cols).map((c) => this.cellHtml(r, c)).join('')}</tr>`;
        const size = `${rows} × ${cols}${note ? `, ${escapeText(note)}` : ''}`;
        this.element.innerHTML = `<figcaption>${escapeText(name)} <small>${size}</small></figcaption>
            <div class="scroll"><table role="grid" aria-label="${escapeText(name)}, ${rows} rows, ${cols} columns">
            <thead><tr><td></td>${heads}</tr></thead>
            <tbody>${range(rows).map(row).join('')}</tbody>
            </table></div>`;
        this.cells = Array.from(this.element.querySelectorAll('[data-r]'));
    }

    // The HTML of a cell: a box to type into, or a text that paint() fills in.
    cellHtml(r, c) {
        const { name, rowLabels, colLabels, editable } = this.content;
        const at = `data-r="${r}" data-c="${c}" tabindex="${r + c === 0 ? 0 : -1}"`;
        if (!editable) return `<td role="gridcell" ${at}></td>`;
        const label = escapeText(`${name}, ${rowLabels[r]}, ${colLabels[c]}`);
        const box = `<input ${at} type="text" inputmode="decimal" autocomplete="off" aria-label="${label}">`;
        return `<td class="boxed" role="gridcell">${box}</td>`;
    }

    cell(r, c) { return this.cells[r * this.content.cols + c]; }

    paint(r, c) {
        const { cols, texts, values, low, high, hidden, editable, chosenRow } = this.content;
        const cell = this.cell(r, c), n = r * cols + c, at = level(values[n], low, high);
        if (editable) {
            if (document.activeElement !== cell || cell.getAttribute('aria-invalid') !== 'true') {
                if (document.activeElement !== cell || parseNumber(cell.value) !== values[n]) cell.value = texts[n];
                cell.removeAttribute('aria-invalid');
            }
            return;
        }
        const isHidden = Boolean(hidden && hidden[n]);
        const colour = low === undefined || Number.isNaN(at) || isHidden ? null : shade(at, themeNow());
        cell.textContent = texts[n];
        cell.style.background = colour ? colour.fill : '';
        cell.style.color = colour ? colour.ink : '';
        cell.classList.toggle('hidden-key', isHidden);
        cell.classList.toggle('chosen', r === chosenRow);
        if (isHidden) cell.setAttribute('aria-label', `hidden ${texts[n]}`);
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
        if (cell && this.on.choose) this.on.choose(placeOf(cell)[0]);
    }

    type(target, done) {
        if (target.dataset.r === undefined) return;
        const [r, c] = placeOf(target), valid = parseNumber(target.value) !== undefined;
        if (!valid && done) {
            target.removeAttribute('aria-invalid');
            target.value = this.content.texts[r * this.content.cols + c];
            return;
        }
        if (valid) target.removeAttribute('aria-invalid');
        else target.setAttribute('aria-invalid', 'true');
        this.on.edit(r, c, target.value);
    }

    // Arrow keys, Home and End go from cell to cell. In a box, left and right do so at the ends of its text.
    key(event) {
        const cell = event.target.closest('[data-r]');
        if (!cell || event.ctrlKey || event.altKey || event.metaKey) return;
        const move = event.key === 'Enter' ? [1, 0] : ARROWS[event.key];
        const { rows, cols } = this.content, inBox = cell.tagName === 'INPUT';
        let [r, c] = placeOf(cell);
        if (event.key === 'Enter' && !inBox && this.on.choose) {
            this.on.choose(r);
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
