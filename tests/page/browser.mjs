// Drives a real browser, without a window, for tests of a local page. Debian's Chromium is driven by the DevTools
// protocol, Firefox ESR by Marionette. One call at a time: each is awaited before the next. A browser that is not
// closed ends with this program, unless this program is killed by SIGKILL: Firefox then stays.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const LIMIT = 30000; // milliseconds for any command

const CHROMIUM = ['--headless=new', '--remote-debugging-pipe', '--no-sandbox', '--disable-gpu', '--hide-scrollbars',
    '--force-device-scale-factor=1', '--disable-dev-shm-usage', '--no-first-run', '--no-default-browser-check',
    '--disable-extensions', '--disable-background-networking', '--disable-component-update', '--disable-default-apps',
    '--disable-sync', '--disable-domain-reliability', '--disable-breakpad', '--metrics-recording-only', '--no-pings',
    '--disable-features=MediaRouter,OptimizationHints,Translate', '--no-proxy-server', '--lang=en-US',
    '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1', '--password-store=basic'];

// Marionette itself turns off much. What is left finds no names, and a proxy that is not there.
const FIREFOX = {
    'marionette.port': 0, 'browser.startup.page': 0, 'browser.startup.homepage_override.mstone': 'ignore',
    'browser.aboutwelcome.enabled': false, 'datareporting.policy.dataSubmissionEnabled': false,
    'toolkit.telemetry.enabled': false, 'toolkit.telemetry.server': '', 'app.update.disabledForTesting': true,
    'app.normandy.enabled': false, 'extensions.update.enabled': false, 'network.captive-portal-service.enabled': false,
    'network.connectivity-service.enabled': false, 'network.proxy.type': 1, 'network.proxy.socks': '127.0.0.1',
    'network.proxy.socks_port': 9, 'network.proxy.socks_remote_dns': true,
    'network.dns.disabled': true, 'ui.useOverlayScrollbars': 1, 'devtools.console.stdout.content': true,
    'devtools.console.stdout.chrome': false, 'browser.download.folderList': 2, 'browser.download.useDownloadDir': true,
    'browser.download.always_ask_before_handling_new_types': false, 'browser.download.alwaysOpenPanel': false,
};

// Keys with a name: the number of each on Windows, its character in WebDriver, and what it types.
const KEYS = {
    Backspace: [8, '\uE003'], Tab: [9, '\uE004'], Enter: [13, '\uE006', '\r'], Escape: [27, '\uE00C'],
    PageUp: [33, '\uE00E'], PageDown: [34, '\uE00F'], End: [35, '\uE010'], Home: [36, '\uE011'],
    ArrowLeft: [37, '\uE012'], ArrowUp: [38, '\uE013'], ArrowRight: [39, '\uE014'], ArrowDown: [40, '\uE015'],
    Delete: [46, '\uE017'], ' ': [32, ' ', ' '], Shift: [16, '\uE008'], Control: [17, '\uE009'],
};
const MODIFIERS = { Control: 2, Shift: 8 };

// These run in the page.

// Where to point at an element: its centre, or that of the first line of a text.
async function place(element) {
    for (const scrolled of [false, true]) {
        if (scrolled) element.scrollIntoView({ block: 'center', inline: 'center', behavior: 'instant' });
        if (scrolled) await new Promise(requestAnimationFrame);
        const box = [...element.getClientRects()].find((r) => r.width > 0 && r.height > 0);
        if (!box || getComputedStyle(element).visibility !== 'visible') throw new Error('not visible');
        const x = Math.floor(box.x + box.width / 2), y = Math.floor(box.y + box.height / 2);
        const over = document.elementFromPoint(x, y);
        if (element.contains(over)) return { x, y };
        if (scrolled && !over) throw new Error('out of the window');
        const name = over && [over.localName, over.id && `#${over.id}`, ...over.classList].filter(Boolean).join(' ');
        if (scrolled) throw new Error(`covered by <${name}>`);
    }
}

function focus(element) {
    element.focus();
    if (document.activeElement !== element) throw new Error('takes no focus');
    element.select ? element.select() : getSelection().selectAllChildren(element);
}

function choose(element, value) {
    if (element.matches(':disabled')) throw new Error('disabled');
    const option = element.options && [...element.options].find((o) => o.value === value && !o.matches(':disabled'));
    if (element.options && !option) throw new Error(`no option ${value}`);
    element.focus();
    if (element.value === value) return;
    if (option) option.selected = true;
    else element.value = value;
    if (element.value !== value) throw new Error(`takes ${element.value} for ${value}`);
    element.dispatchEvent(new Event('input', { bubbles: true, composed: true }));
    element.dispatchEvent(new Event('change', { bubbles: true }));
}

// The rectangle of an element, or of the whole page, from the page's top left.
async function frame(element) {
    const page = document.documentElement, whole = element === page;
    if (whole) scrollTo({ top: 0, behavior: 'instant' });
    else element.scrollIntoView({ block: 'nearest', behavior: 'instant' });
    await new Promise(requestAnimationFrame);
    if (whole) return { x: 0, y: 0, width: page.scrollWidth, height: page.scrollHeight };
    const box = element.getBoundingClientRect(), x = Math.floor(box.left), y = Math.floor(box.top);
    if (!box.width || !box.height) throw new Error('not visible');
    return { x: x + scrollX, y: y + scrollY, width: Math.ceil(box.right) - x, height: Math.ceil(box.bottom) - y };
}

// The script that calls a function, or has the value of an expression: its answer is a promise of JSON.
function script(what, args) {
    return `(async (make, args) => {
        try {
            const it = await make();
            return JSON.stringify({ value: await (typeof it === 'function' ? it(...args) : it) });
        } catch (e) {
            return JSON.stringify({ error: String(e).replace(/^Error: /, '') });
        }
    })(async () => (${what}\n), ${JSON.stringify(args)})`;
}

async function until(holds, what) {
    for (const end = Date.now() + LIMIT; Date.now() < end; await sleep(20)) {
        const value = await holds();
        if (value) return value;
    }
    throw new Error(`${what}: not within ${LIMIT / 1000} s`);
}

const running = new Set();
process.on('exit', () => running.forEach((browser) => browser.destroy()));
for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));

class Browser {
    problems = [];
    requests = [];
    downloads = [];
    waiting = new Map();
    count = 0;
    said = ''; // the end of its errors
    rest = Buffer.alloc(0);

    constructor(name) {
        this.name = name;
        this.directory = mkdtempSync(join(tmpdir(), `${name}-`));
        this.profile = join(this.directory, 'profile');
        this.saved = join(this.directory, 'saved');
        [this.profile, this.saved].forEach((path) => mkdirSync(path));
        running.add(this);
    }

    async spawn(program, args) {
        const stdio = ['ignore', 'pipe', 'pipe', 'pipe', 'pipe'];
        const env = { ...process.env, HOME: this.directory, TMPDIR: this.directory, MOZ_CRASHREPORTER_DISABLE: '1' };
        this.child = spawn(program, args, { stdio, env, detached: true }); // a group of processes of its own
        await once(this.child, 'spawn').catch((e) => {
            throw new Error(e.code === 'ENOENT' ? `${this.name} is not installed: there is no ${program}` : `${e}`);
        });
        this.ended = once(this.child, 'exit').then(() => this.end());
        for (const stream of this.child.stdio.slice(1)) stream.on('error', () => {}).unref();
        this.child.stderr.setEncoding('utf8').on('data', (text) => this.said = `${this.said}${text}`.slice(-1000));
        this.child.unref();
    }

    end() {
        this.gone ??= `${this.name} has ended: ${this.said.trim()}`;
        for (const id of this.waiting.keys()) this.settle(id, this.gone);
    }

    command(name, params = {}, session = this.session) {
        const id = ++this.count;
        return new Promise((resolve, reject) => {
            const timer = setTimeout(() => this.settle(id, `no answer within ${LIMIT / 1000} s`), LIMIT);
            this.waiting.set(id, { name, resolve, reject, timer });
            this.gone ? this.settle(id, this.gone) : this.write(id, name, params, session);
        });
    }

    settle(id, error, result) {
        const { name, resolve, reject, timer } = this.waiting.get(id) ?? {};
        if (!this.waiting.delete(id)) return;
        clearTimeout(timer);
        error ? reject(new Error(`${name}: ${error}`)) : resolve(result);
    }

    receive(chunk) {
        this.rest = Buffer.concat([this.rest, chunk]);
        for (let text; (text = this.take()) !== undefined;) this.read(JSON.parse(text));
    }

    // The message of length bytes, once it has come with what is before and after it.
    cut(before, length, after) {
        if (this.rest.length < before + length + after) return undefined;
        const text = this.rest.toString('utf8', before, before + length);
        this.rest = this.rest.subarray(before + length + after);
        return text;
    }

    // Calls a function with the arguments, or has the value of an expression, in the page; all as JSON.
    async evaluate(what, ...args) {
        const { error, value } = JSON.parse(await this.run(script(what, args)));
        if (error !== undefined) throw new Error(error);
        return value;
    }

    // Calls a function with the element, and arguments.
    on(selector, what, ...args) {
        return this.evaluate(`(selector, ...args) => {
            const element = document.querySelector(selector);
            if (!element) throw new Error('nothing matches');
            return (${what})(element, ...args);
        }`, selector, ...args).catch((e) => {
            throw new Error(`${selector}: ${e.message}`);
        });
    }

    async hover(selector) {
        await this.point(await this.on(selector, place), false);
    }

    async click(selector) {
        await this.point(await this.on(selector, place), true);
    }

    async type(selector, text) {
        await this.on(selector, focus);
        await this.keys(text ? [...text].map((c) => c === '\n' ? 'Enter' : c) : ['Delete'], []);
    }

    async press(key, ...modifiers) {
        if ([...key].length > 1 && !KEYS[key]) throw new Error(`no such key: ${key}`);
        if (!modifiers.every((name) => MODIFIERS[name])) throw new Error(`no such modifiers: ${modifiers.join(' ')}`);
        await this.keys([modifiers.includes('Shift') && key.length === 1 ? key.toUpperCase() : key], modifiers);
    }

    set(selector, value) {
        return this.on(selector, choose, String(value));
    }

    // The page is scrolled to its top for a picture of it all, and to the element for one of that.
    async screenshot(path, selector = ':root') {
        writeFileSync(path, Buffer.from(await this.picture(await this.on(selector, frame)), 'base64'));
    }

    // What is saved by an action, { name, text }. It is kept in downloads also.
    async download(action) {
        const before = (await this.files()).length;
        await action();
        const { name, path } = await until(async () => (await this.files())[before], 'download');
        this.downloads.push({ name, text: readFileSync(path, 'utf8') });
        rmSync(path);
        return this.downloads.at(-1);
    }

    async close() {
        if (this.child?.pid) {
            this.child.ref();
            this.quit().catch(() => {});
            await Promise.race([this.ended, sleep(5000, null, { ref: false })]);
        }
        this.destroy();
    }

    destroy() {
        if (!running.delete(this)) return;
        this.end();
        try {
            if (this.child?.pid) process.kill(-this.child.pid, 'SIGKILL');
        } catch {} // all have ended
        rmSync(this.directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
    }
}

class Chromium extends Browser {
    saves = new Map();
    logged = new Set(); // a new process for the page sends what was logged again

    async start() {
        await this.spawn('chromium', [...CHROMIUM, `--user-data-dir=${this.profile}`, 'about:blank']);
        this.child.stdout.resume();
        this.child.stdio[4].on('data', (chunk) => this.receive(chunk));
        this.version = (await this.command('Browser.getVersion')).product.replace(/.*\//, '');
        await this.command('Browser.setDownloadBehavior', { behavior: 'allowAndName', downloadPath: this.saved,
            eventsEnabled: true });
        const page = await until(async () => (await this.command('Target.getTargets')).targetInfos
            .find(({ type }) => type === 'page'), 'the first page');
        const attached = await this.command('Target.attachToTarget', { targetId: page.targetId, flatten: true });
        await this.watch(this.session = attached.sessionId);
        await this.command('Page.enable');
        await this.command('Emulation.setFocusEmulationEnabled', { enabled: true });
    }

    // Events of a page, or of a frame or a worker of it.
    async watch(session) {
        const attach = { autoAttach: true, waitForDebuggerOnStart: true, flatten: true };
        const all = ['Runtime.enable', 'Log.enable', 'Network.enable'].map((name) => this.command(name, {}, session));
        all.push(this.command('Target.setAutoAttach', attach, session));
        await Promise.allSettled(all); // a worker has not all of them
        await this.command('Runtime.runIfWaitingForDebugger', {}, session).catch(() => {});
    }

    write(id, method, params, sessionId) {
        this.child.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    }

    take() {
        const end = this.rest.indexOf(0);
        return end < 0 ? undefined : this.cut(0, end, 1);
    }

    read({ id, error, result, method, params }) {
        if (id) this.settle(id, error?.message, result);
        else this.events[method]?.(params);
    }

    // A name that is looked up early, by a hint in the page, is not seen.
    events = {
        'Runtime.consoleAPICalled': ({ type, args }) => {
            const text = args.map((a) => a.description ?? a.value ?? a.type).join(' ');
            if (['error', 'warning', 'assert'].includes(type)) this.problems.push(`console ${type}: ${text}`);
        },
        'Runtime.exceptionThrown': ({ exceptionDetails: { text, exception } }) =>
            this.problems.push(`${text} ${exception?.description ?? exception?.value ?? ''}`.trim()),
        'Log.entryAdded': ({ entry: { source, level, text, url, timestamp } }) => {
            const again = this.logged.has(timestamp + text) || source === 'worker'; // which logs for itself
            this.logged.add(timestamp + text);
            if (['error', 'warning'].includes(level) && !again) this.problems.push(`${text} ${url ?? ''}`.trim());
        },
        'Network.requestWillBeSent': ({ request: { url } }) => {
            if (!url.startsWith('data:') && url !== this.page) this.requests.push(url);
        },
        'Network.webSocketCreated': ({ url }) => this.requests.push(url),
        'Target.attachedToTarget': ({ sessionId }) => this.watch(sessionId),
        'Inspector.targetCrashed': () => this.problems.push('the page has crashed'),
        'Page.loadEventFired': () => this.loaded = true,
        'Page.javascriptDialogOpening': ({ type, message }) => {
            this.problems.push(`${type}: ${message}`);
            this.command('Page.handleJavaScriptDialog', { accept: type === 'beforeunload' }).catch(() => {});
        },
        'Browser.downloadWillBegin': ({ guid, suggestedFilename }) =>
            this.saves.set(guid, { name: suggestedFilename, path: join(this.saved, guid) }),
        'Browser.downloadProgress': ({ guid, state }) => {
            if (this.saves.has(guid)) this.saves.get(guid).state = state;
        },
    };

    async open(url) {
        this.page = new URL(url).href.replace(/#.*/, '');
        this.loaded = false;
        const { errorText, loaderId } = await this.command('Page.navigate', { url });
        if (errorText) throw new Error(`open ${url}: ${errorText}`);
        if (loaderId) await until(() => this.loaded, `open ${url}`); // none if only the fragment is another
    }

    resize(width, height) {
        const size = { width, height, deviceScaleFactor: 1, mobile: false };
        return this.command('Emulation.setDeviceMetricsOverride', size);
    }

    prefer({ dark = false, reducedMotion = false } = {}) {
        return this.command('Emulation.setEmulatedMedia', { features: [
            { name: 'prefers-color-scheme', value: dark ? 'dark' : 'light' },
            { name: 'prefers-reduced-motion', value: reducedMotion ? 'reduce' : 'no-preference' }] });
    }

    async run(expression) {
        const ask = { expression, awaitPromise: true, returnByValue: true, userGesture: true };
        const { exceptionDetails, result } = await this.command('Runtime.evaluate', ask);
        if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
        return result.value;
    }

    async point({ x, y }, press) {
        const send = (type, more) => this.command('Input.dispatchMouseEvent', { type, x, y, ...more });
        await send('mouseMoved');
        if (press) await send('mousePressed', { button: 'left', buttons: 1, clickCount: 1 });
        if (press) await send('mouseReleased', { button: 'left', clickCount: 1 });
    }

    async key(type, key, modifiers) {
        const letter = /^[a-z0-9]$/i.test(key) && key.toUpperCase();
        const [windowsVirtualKeyCode, , text] = KEYS[key] ?? [letter ? letter.charCodeAt(0) : 0, key, key];
        const code = letter ? `${/\d/.test(key) ? 'Digit' : 'Key'}${letter}` : key === ' ' ? 'Space' : key;
        const types = type === 'keyDown' && text && !(modifiers & MODIFIERS.Control) ? { text } : {};
        await this.command('Input.dispatchKeyEvent', { type, key, code, windowsVirtualKeyCode, modifiers, ...types });
    }

    async keys(all, modifiers) {
        let held = 0;
        for (const name of modifiers) await this.key('keyDown', name, held |= MODIFIERS[name]);
        for (const key of all) {
            await this.key('keyDown', key, held);
            await this.key('keyUp', key, held);
        }
        for (const name of modifiers) await this.key('keyUp', name, held &= ~MODIFIERS[name]);
    }

    async picture(box) {
        const what = { clip: { ...box, scale: 1 }, captureBeyondViewport: true };
        return (await this.command('Page.captureScreenshot', what)).data;
    }

    async files() {
        return [...this.saves.values()].filter(({ state }) => state === 'completed');
    }

    quit() {
        return this.command('Browser.close');
    }
}

// Not seen in Firefox: loads that fail, but what CORS and the Content-Security-Policy forbid; alerts, which are
// dismissed; what a page asks for, so that requests stays empty; and, by evaluate, variables that a page declares by
// let or const outside functions.
class Firefox extends Browser {
    async start() {
        const prefs = Object.entries({ ...FIREFOX, 'browser.download.dir': this.saved });
        writeFileSync(join(this.profile, 'user.js'), prefs.map(([name, value]) =>
            `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});\n`).join(''));
        await this.spawn('firefox-esr', ['--headless', '--marionette', '--remote-allow-system-access', '--no-remote',
            '--profile', this.profile]);
        this.child.stdout.setEncoding('utf8').on('data', (text) => this.print(text));
        await this.connect();
        const { capabilities } = await this.command('WebDriver:NewSession', { unhandledPromptBehavior: 'dismiss',
            acceptInsecureCerts: false });
        this.version = capabilities.browserVersion;
    }

    async connect() {
        const file = join(this.profile, 'MarionetteActivePort');
        const read = () => existsSync(file) && Number(readFileSync(file, 'utf8'));
        const port = await until(() => this.gone || read(), 'Marionette');
        if (this.gone) throw new Error(this.gone);
        this.socket = connect(port, '127.0.0.1').on('error', () => {}).unref();
        this.socket.on('data', (chunk) => this.receive(chunk));
        await until(() => this.hello, 'Marionette');
    }

    // What the console of a page says is printed, so that what is said while a page loads is not missed. What Firefox
    // says itself begins with the name of a part.
    print(text) {
        for (const [, type, said] of text.matchAll(/^console\.(error|warn|assert): (?!\w+: )(.*)/gm))
            this.problems.push(`console ${type}: ${said}`);
    }

    write(id, name, params) {
        const text = JSON.stringify([0, id, name, params]);
        this.socket.write(`${Buffer.byteLength(text)}:${text}`);
    }

    take() {
        const colon = this.rest.indexOf(':');
        return colon < 0 ? undefined : this.cut(colon + 1, Number(this.rest.toString('latin1', 0, colon)), 0);
    }

    read(message) {
        if (!Array.isArray(message)) this.hello = message;
        else this.settle(message[1], message[2]?.message, message[3]);
    }

    async run(text) {
        const { value } = await this.command('WebDriver:ExecuteScript', { script: `return ${text}`, args: [] });
        await this.look();
        return value;
    }

    // Calls a function in the browser itself.
    async chrome(what, ...args) {
        await this.command('Marionette:SetContext', { value: 'chrome' });
        try {
            const call = { script: `return (${what})(...arguments)`, args };
            return (await this.command('WebDriver:ExecuteScript', call)).value;
        } finally {
            await this.command('Marionette:SetContext', { value: 'content' });
        }
    }

    // Errors of scripts and of the Content-Security-Policy.
    async look() {
        this.problems.push(...await this.chrome(() => {
            const all = Services.console.getMessageArray();
            Services.console.reset();
            const own = (m) => m.isFromChromeContext || /^(chrome|resource|moz-extension):/.test(m.sourceName);
            return all.filter((m) => m instanceof Ci.nsIScriptError && m.logLevel > 1 && !own(m))
                .map((m) => `${m.errorMessage} ${m.sourceName}`);
        }));
    }

    async open(url) {
        await this.command('WebDriver:Navigate', { url });
        await this.look();
    }

    // A window has a least width, and its page none.
    async resize(width, height) {
        await this.command('WebDriver:SetWindowRect', { width: Math.max(width, 500), height: height + 150 });
        await this.chrome((size) => {
            for (const [name, value] of Object.entries(size))
                for (const limit of ['', 'min-', 'max-'])
                    gBrowser.selectedBrowser.style.setProperty(limit + name, `${value}px`);
        }, { width, height });
        await until(() => this.evaluate((w, h) => innerWidth === w && innerHeight === h, width, height), 'resize');
    }

    async prefer({ dark = false, reducedMotion = false } = {}) {
        await this.chrome((dark, reducedMotion) => {
            Services.prefs.setIntPref('layout.css.prefers-color-scheme.content-override', dark ? 0 : 1);
            Services.prefs.setIntPref('ui.prefersReducedMotion', reducedMotion ? 1 : 0);
        }, dark, reducedMotion);
        const is = (scheme, motion) => matchMedia(`(prefers-color-scheme: ${scheme})`).matches &&
            matchMedia(`(prefers-reduced-motion: ${motion})`).matches;
        const wanted = [dark ? 'dark' : 'light', reducedMotion ? 'reduce' : 'no-preference'];
        await until(() => this.evaluate(is, ...wanted), 'prefer');
    }

    async point({ x, y }, press) {
        const actions = [{ type: 'pointerMove', x, y }];
        if (press) actions.push({ type: 'pointerDown', button: 0 }, { type: 'pointerUp', button: 0 });
        await this.command('WebDriver:PerformActions', { actions: [{ type: 'pointer', id: 'mouse', actions }] });
        await this.look();
    }

    async keys(all, modifiers) {
        const action = (type, name) => ({ type, value: KEYS[name]?.[1] ?? name });
        const actions = [...modifiers.map((name) => action('keyDown', name)),
            ...all.flatMap((name) => [action('keyDown', name), action('keyUp', name)]),
            ...modifiers.map((name) => action('keyUp', name))];
        await this.command('WebDriver:PerformActions', { actions: [{ type: 'key', id: 'keyboard', actions }] });
        await this.look();
    }

    picture(box) {
        return this.chrome(async ({ x, y, width, height }) => {
            const page = gBrowser.selectedBrowser.browsingContext.currentWindowGlobal;
            const bitmap = await page.drawSnapshot(new DOMRect(x, y, width, height), 1, 'white');
            const canvas = document.createElementNS('http://www.w3.org/1999/xhtml', 'canvas');
            [canvas.width, canvas.height] = [bitmap.width, bitmap.height];
            canvas.getContext('2d').drawImage(bitmap, 0, 0);
            return canvas.toDataURL().replace(/.*,/, '');
        }, box);
    }

    async files() {
        const paths = await this.chrome(async () => {
            const { Downloads } = ChromeUtils.importESModule('resource://gre/modules/Downloads.sys.mjs');
            const all = await (await Downloads.getList(Downloads.ALL)).getAll();
            return all.filter((d) => d.succeeded).map((d) => d.target.path);
        });
        return paths.map((path) => ({ name: basename(path), path }));
    }

    quit() {
        return this.command('Marionette:Quit', { flags: ['eForceQuit'] });
    }
}

// A browser with a page of 1280 x 800, light, by name: chromium or firefox.
export async function launch(name) {
    const Kind = { chromium: Chromium, firefox: Firefox }[name];
    if (!Kind) throw new Error(`no such browser: ${name}`);
    const browser = new Kind(name);
    try {
        await browser.start();
        await browser.resize(1280, 800);
        await browser.prefer();
        return browser;
    } catch (e) {
        await browser.close();
        throw e;
    }
}
