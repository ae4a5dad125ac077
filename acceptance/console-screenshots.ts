import { test } from 'bun:test';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { BrowserContext } from 'playwright-core';
import { browserOf, waitUntilLoaded } from './support/console/browsing.ts';
import { consolePages } from './support/console/pages.ts';
import { newConsoleWorld } from './support/console/world.ts';
import { root, startEmbedded } from './support/server.ts';

/** `npm run screenshots -- logs metrics`: only pages whose name contains one of the words. */
const words = (process.env.SVC_SCREENS ?? '').split(' ').filter(Boolean);
const folder = process.env.SVC_SCREENS_DIR ?? join(root, '.svc', 'screens');
const widths = (process.env.SVC_SCREENS_WIDTHS ?? '360,1280').split(',').map(Number);

test('each page of the console is pictured in both themes', async () => {
  const world = await newConsoleWorld(await startEmbedded());
  const pages = consolePages(world).filter(
    ({ name }) => words.length === 0 || words.some((word) => name.includes(word)),
  );
  mkdirSync(folder, { recursive: true });
  const browsers = new Map<string, BrowserContext>();
  for (const { name, path, as } of pages) {
    const browser = browsers.get(as) ?? (await browserOf(world.server, world[as]));
    browsers.set(as, browser);
    const page = await browser.newPage();
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      for (const width of widths) {
        await page.setViewportSize({ width, height: width < 600 ? 780 : Math.round((width * 9) / 16) });
        await page.goto(world.server.baseUrl + path);
        await waitUntilLoaded(page);
        await page.screenshot({ path: join(folder, `${name}-${colorScheme}-${width}.png`), fullPage: true });
      }
    }
    await page.close();
  }
  await Promise.all([...browsers.values()].map((browser) => browser.close()));
  console.log(`${pages.length} pages in ${folder}`);
}, 900_000);
