// Takes the picture of the page that README shows: node tests/page/picture.mjs BUILD FILE
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { launch } from './browser.mjs';

const [build, file] = process.argv.slice(2);
const link = '#panel=steps&step=weights&mask=causal';
const browser = await launch('chromium');
await browser.resize(1200, 960);
await browser.open(pathToFileURL(resolve(build, 'page/attention.html')).href + link);
while (!await browser.evaluate(() => 'ready' in document.documentElement.dataset));
await browser.hover('#steps-matrices figure:nth-child(1) [data-r="3"][data-c="1"]');
await browser.screenshot(file);
await browser.close();
