// What is shown: which panel, in which theme, and the link to it in the address. This module owns the list of panels,
// each of which enters itself and has id, start(), render(), picture(), write(link), read(link) and what PANEL
// gives. It knows parts.js, and no panel by name.

const panels = [];

let shown = null, written = '', waiting = 0;

// The link of what is shown, after a moment without changes. Another panel is another entry of the history.
function remember() {
    clearTimeout(waiting);
    waiting = setTimeout(() => writeLink(), 150);
}

function writeLink(isNew = false) {
    const link = new URLSearchParams();
    clearTimeout(waiting);
    link.set('panel', shown.id);
    shown.write(link);
    if ($('theme').value) link.set('theme', $('theme').value);
    written = `#${link}`;
    if (location.hash === written) return;
    if (isNew) history.pushState(null, '', written);
    else history.replaceState(null, '', written);
}

function readLink() {
    const link = new URLSearchParams(location.hash.slice(1));
    const panel = panels.find((p) => p.id === link.get('panel')) || panels[0];
    if (['light', 'dark'].includes(link.get('theme'))) $('theme').value = link.get('theme');
    setTheme();
    sayTogether(() => {
        if (location.hash.length > 1 && panel.id !== link.get('panel'))
            notice('The link names no panel of this page: here is the first one.');
        if (link.has('panel')) attempt(() => panel.read(link));
        show(panel);
    });
}

function show(panel) {
    shown = panel;
    for (const p of panels) {
        $(p.id).hidden = p !== panel;
        $(`tab-${p.id}`).setAttribute('aria-selected', String(p === panel));
        $(`tab-${p.id}`).tabIndex = p === panel ? 0 : -1;
    }
    panel.render();
    remember();
}

function setTheme() {
    const system = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
    document.documentElement.dataset.theme = $('theme').value || system;
}

// What panels do alike, as methods of each.
const PANEL = {
    // After a change: the panel as it is now, and the link to it.
    changed() {
        this.render();
        remember();
    },

    // Changes some of the panel's own values.
    update(values) {
        Object.assign(this, values);
        this.changed();
    },

    // Whether compute() came to its end; else a sentence says why not.
    computes() { return attempt(() => { this.compute(); return true; }) === true; },

    // Nothing is looked at; `invitation` says what could be.
    forget() {
        this.looked = null;
        for (const grid of Object.values(this.grids)) grid.mark(() => false);
        tell(`${this.id}-sum`, this.invitation, false);
    },
};
