// build/notebooks.html in real browsers: node tests/page/notebooks.mjs BUILD [BROWSER...]. Wide and on a phone, light and
// dark, nothing is wider than the window, and all text that is not of a picture has a contrast of 4.5 with what it stands
// on. Takes pictures of its beginning to BUILD/page/screens. Without names: chromium.
import { mkdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { launch } from './browser.mjs';
import { Checks } from './printed.mjs';

const build = process.argv[2] || 'build', names = process.argv.slice(3), screens = `${build}/page/screens`;
const checks = new Checks();

// The least contrast of a text with the first ground behind it that is not transparent, and the text.
function leastContrast() {
    const levels = (colour) => colour.match(/[\d.]+/g).map(Number);
    const light = (level) => level <= 10 ? level / 255 / 12.92 : ((level / 255 + 0.055) / 1.055) ** 2.4;
    const luminance = ([r, g, b]) => 0.2126 * light(r) + 0.7152 * light(g) + 0.0722 * light(b);
    const ground = (element) => {
        const colour = levels(getComputedStyle(element).backgroundColor);
        return colour[3] === 0 && element.parentElement ? ground(element.parentElement) : colour;
    };
    let least = [Infinity, ''];
    for (const element of document.querySelectorAll('body :not(svg, svg *)')) {
        const text = Array.from(element.childNodes, (n) => n.nodeType === 3 ? n.data.trim() : '').join('');
        if (!text) continue;
        const [a, b] = [levels(getComputedStyle(element).color), ground(element)].map(luminance);
        const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (contrast < least[0]) least = [contrast, text.slice(0, 60)];
    }
    return least;
}

mkdirSync(screens, { recursive: true });
for (const name of names.length ? names : ['chromium']) {
    const browser = await launch(name);
    for (const dark of [false, true])
        for (const width of [1200, 390]) {
            const what = `${name}, ${width} pixels, ${dark ? 'dark' : 'light'}`;
            await browser.prefer({ dark });
            await browser.resize(width, 800);
            await browser.open(pathToFileURL(resolve(build, 'notebooks.html')).href);
            const excess = await browser.evaluate(() => document.documentElement.scrollWidth - innerWidth);
            const [contrast, text] = await browser.evaluate(leastContrast);
            const steps = await browser.evaluate(() => document.querySelectorAll('section.step').length);
            checks.check(excess <= 0, `${what}: ${excess} pixels too wide`);
            checks.check(contrast >= 4.5, `${what}: contrast ${contrast} of "${text}"`);
            checks.check(steps > 60, `${what}: ${steps} steps`);
            await browser.screenshot(`${screens}/${name}-notebooks-${width}-${dark ? 'dark' : 'light'}.png`);
        }
    await browser.close();
}
checks.end();
