import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { BrowserContext, Page } from 'playwright-core';
import { hasChromium, needsChromium } from '../support/chromium.ts';
import { browserOf, complaintsOf, settled, violationsOf } from '../support/console/browsing.ts';

import { type ConsolePage, consolePages } from '../support/console/pages.ts';
import { type ConsoleWorld, newConsoleWorld } from '../support/console/world.ts';
import { startEmbedded } from '../support/server.ts';
import { repeatConcurrently } from '../support/until.ts';

export function consolePagesSuite({ oneOf }: { oneOf: number }): void {
  if (needsChromium) test('Chromium is on this machine', () => expect(hasChromium).toBe(true));

  /** Several tests over the same list, so that none takes too long for its limit. */
  const parts = 4;
  const atOnce = 4;

  describe.if(hasChromium)('pages of the console', () => {
    let world: ConsoleWorld;
    const browsers: Partial<Record<ConsolePage['as'], BrowserContext>> = {};
    beforeAll(async () => {
      world = await newConsoleWorld(await startEmbedded());
      for (const as of ['admin', 'owner', 'member'] as const)
        browsers[as] = await browserOf(world.server, world[as]);
    });
    afterAll(() => Promise.all(Object.values(browsers).map((browser) => browser.close())));

    for (let part = 0; part < parts; part++) {
      test(`pass the accessibility rules in light and dark, log no errors, and fit 360 and 3840 pixels (${part + 1}/${parts})`, async () => {
        const pages = consolePages(world)
          .filter((_, at) => at % oneOf === 0)
          .filter((_, at) => at % parts === part);
        const begun = performance.now();
        const found: string[] = [];
        // Most of the time is spent waiting for a page to be idle.
        await repeatConcurrently(pages.length, atOnce, async (at) => {
          found.push(...(await wrongWith(pages[at]!)));
        });
        const seconds = (performance.now() - begun) / 1000;
        console.log(`console: ${pages.length} pages checked in ${seconds.toFixed(1)} s`);
        expect(found).toEqual([]);
      });
    }

    async function wrongWith({ name, path, as }: ConsolePage): Promise<string[]> {
      const found: string[] = [];
      const page = await browsers[as]!.newPage();
      const complaints = complaintsOf(page);
      await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
      await page.goto(world.server.baseUrl + path);
      await settled(page);
      found.push(...(await violationsOf(page)).map((violation) => `light: ${violation}`));
      await page.emulateMedia({ colorScheme: 'dark' });
      // Only the contrast depends on the theme.
      found.push(...(await violationsOf(page, 'color-contrast')).map((violation) => `dark: ${violation}`));
      for (const width of [360, 3840]) {
        await page.setViewportSize({ width, height: 900 });
        if (!(await fits(page))) found.push(`${width} pixels wide: scrolls sideways`);
      }
      await page.close();
      return [...found, ...complaints].map((text) => `${name}: ${text}`);
    }

    /** Polls: charts redraw once their container has its size. */
    const fits = (page: Page) =>
      page
        .waitForFunction(
          () => document.documentElement.scrollWidth <= document.documentElement.clientWidth,
          null,
          { timeout: 15_000 },
        )
        .then(
          () => true,
          () => false,
        );
  });
}
