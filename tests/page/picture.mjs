// Takes the picture of the page that README shows: node tests/page/picture.mjs BUILD FILE
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { launch } from './browser.mjs';

const [build, file] = process.argv.slice(2);
const link = '#panel=steps&numbers=004&step=output&mask=causal';
const browser = await launch('chromium');
await browser.resize(1120, 800);
await browser.open(pathToFileURL(resolve(build, 'page/attention.html')).href + link);
await browser.hover('#steps-matrices figure:nth-child(3) [data-r="3"][data-c="0"]');
await browser.screenshot(file);
await browser.close();
