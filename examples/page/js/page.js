// The page itself. This module makes the engine of what is in the document, starts every panel, and owns what stands
// around them: tabs, saving and sharing. It knows engine.js, parts.js and view.js, and no panel by name.

function fileBytes(name) {
    const text = atob(fileText(name));
    return Uint8Array.from(text, (c) => c.charCodeAt(0));
}

// Which of the two the browser can run: that with vectors, or that without.
function chooseProgram() {
    const vectors = fileBytes('vectors');
    return WebAssembly.validate(vectors) ? vectors : fileBytes('scalar');
}

function save() {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([shown.picture('light')], { type: 'image/svg+xml' }));
    link.download = `attention-${shown.id}.svg`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

async function share() {
    writeLink();
    try {
        await navigator.clipboard.writeText(location.href);
        notice('The link to this view is in the clipboard.');
    } catch {
        notice('The address of this page is the link to this view.');
    }
}

function startTabs() {
    const choose = (panel) => {
        if (panel === shown) return;
        writeLink();
        notice('');
        show(panel);
        writeLink(true);
    };
    for (const panel of panels) $(`tab-${panel.id}`).addEventListener('click', () => choose(panel));
    $('tabs').addEventListener('keydown', (event) => {
        const n = panels.indexOf(shown), last = panels.length - 1;
        const to = {
            ArrowLeft: (n + last) % panels.length,
            ArrowRight: (n + 1) % panels.length,
            Home: 0,
            End: last,
        }[event.key] ?? n;
        if (to === n) return;
        event.preventDefault();
        choose(panels[to]);
        $(`tab-${panels[to].id}`).focus();
    });
}

function startPage() {
    const paths = [['config', 'config.json'], ['weights', 'model.safetensors'], ['pieces', 'spiece.model']];
    const files = new Map(paths.map(([id, path]) => [`model/${path}`, fileBytes(id)]));
    try {
        engine = new Engine(chooseProgram(), files);
    } catch (error) {
        notice(`This browser cannot run the page: ${error.message}`);
        return;
    }
    setTheme();
    panels.forEach((panel) => panel.start());
    startTabs();
    when('change', 'theme', () => { setTheme(); shown.changed(); });
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { setTheme(); shown.render(); });
    when('click', 'export', save);
    when('click', 'share', share);
    $('about').textContent = `attn.h ${engine.version} computes all of this in your browser, with ` +
        `${engine.instructionSet}. Nothing is sent anywhere.`;
    window.addEventListener('hashchange', () => { if (location.hash !== written) readLink(); });
    readLink();
}

if (typeof document !== 'undefined') startPage();
