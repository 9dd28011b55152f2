// The page itself. This module makes the engine of what is in the document, starts every panel, and owns what stands
// around them: tabs, saving and sharing. It knows engine.js, parts.js, view.js and own.js, and no panel by name.

// The bytes of a file, which came gzipped and as base64.
async function fileBytes(name) {
    const packed = Uint8Array.from(atob(fileText(name)), (c) => c.charCodeAt(0));
    const plain = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
    return new Uint8Array(await new Response(plain).arrayBuffer());
}

// Which of the two the browser can run: that with vectors, or that without.
async function chooseProgram() {
    const vectors = await fileBytes('vectors');
    return WebAssembly.validate(vectors) ? vectors : fileBytes('scalar');
}

function save() {
    const picture = attempt(() => shown.picture());
    if (!picture) return;
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([picture], { type: 'image/svg+xml' }));
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

const MODEL = [['config', 'config.json'], ['weights', 'model.safetensors'], ['pieces', 'spiece.model']];

async function startPage() {
    setTheme();
    try {
        const files = await Promise.all(MODEL.map(async ([id, path]) => [`model/${path}`, await fileBytes(id)]));
        const program = await chooseProgram();
        engine = new Engine(program, new Map(files));
        own.start(program);
    } catch (error) {
        notice(`This browser cannot run the page: ${error.message}`);
        return;
    }
    panels.forEach((panel) => panel.start());
    startTabs();
    when('change', 'theme', () => { setTheme(); shown.changed(); });
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { setTheme(); shown.render(); });
    window.addEventListener('keydown', (event) => { if (event.key === 'Escape') notice(''); });
    window.addEventListener('resize', () => shown.render());
    when('click', 'export', save);
    when('click', 'share', share);
    $('about').textContent = `attn.h ${engine.version} computes all of this in your browser, with ` +
        `${engine.instructionSet}. Nothing is sent anywhere.`;
    window.addEventListener('hashchange', () => { if (location.hash !== written) readLink(); });
    readLink();
    document.documentElement.dataset.ready = '';
}

if (typeof document !== 'undefined') startPage();
