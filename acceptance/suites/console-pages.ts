import { beforeAll, describe, expect, test } from 'bun:test';
import type { BrowserContext, Page } from 'playwright-core';
import { hasChromium } from '../support/chromium.ts';
import {
  browserOf,
  complaintsOf,
  loadingOf,
  violationsOf,
  waitUntilIdle,
} from '../support/console/browsing.ts';

import { type ConsolePage, consolePages } from '../support/console/pages.ts';
import { type ConsoleWorld, newConsoleWorld } from '../support/console/world.ts';
import { startEmbedded } from '../support/server.ts';
import { repeatConcurrently } from '../support/until.ts';

export function consolePagesSuite(): void {
  const atOnce = 2;

  describe.if(hasChromium)('pages of the console', () => {
    let world: ConsoleWorld;
    beforeAll(async () => {
      world = await newConsoleWorld(await startEmbedded());
    });

    test.each(['owner', 'admin', 'member'] as const)(
      'of %s pass the accessibility rules in light and dark, log no errors, and fit 360 and 3840 pixels',
      async (as) => {
        const browser = await browserOf(world.server, world[as]);
        const pages = consolePages(world).filter((page) => page.as === as);
        const begun = performance.now();
        const found: string[] = [];
        const free: OpenConsole[] = [];
        await repeatConcurrently(pages.length, atOnce, async (at) => {
          const tab = free.pop() ?? (await openConsole(browser, pages[at]!.path));
          found.push(...(await wrongWith(tab, pages[at]!)));
          free.push(tab);
        });
        await browser.close();
        const seconds = (performance.now() - begun) / 1000;
        console.log(`console: ${pages.length} pages checked in ${seconds.toFixed(1)} s`);
        expect(found).toEqual([]);
      },
    );

    interface OpenConsole {
      page: Page;
      complaints: string[];
      isLoading: () => boolean;
    }

    async function openConsole(browser: BrowserContext, path: string): Promise<OpenConsole> {
      const page = await browser.newPage();
      const tab = { page, complaints: complaintsOf(page), isLoading: loadingOf(page) };
      await page.emulateMedia({ reducedMotion: 'reduce' });
      await page.goto(world.server.baseUrl + path);
      return tab;
    }

    /** The console goes from page to page by its own router: loading it each time costs more than all the checks. */
    async function wrongWith(
      { page, complaints, isLoading }: OpenConsole,
      { name, path }: ConsolePage,
    ): Promise<string[]> {
      const found: string[] = [];
      await page.emulateMedia({ colorScheme: 'light' });
      await page.setViewportSize({ width: 1280, height: 900 });
      await page.evaluate((to) => history.pushState(null, '', to), path);
      await page.getByRole('heading', { level: 1 }).first().waitFor();
      await waitUntilIdle(page, isLoading);
      found.push(...(await violationsOf(page)).map((violation) => `light: ${violation}`));
      await page.emulateMedia({ colorScheme: 'dark' });
      // Only the contrast depends on the theme.
      found.push(...(await violationsOf(page, 'color-contrast')).map((violation) => `dark: ${violation}`));
      for (const width of [360, 3840]) {
        await page.setViewportSize({ width, height: 900 });
        if (!(await fits(page))) found.push(`${width} pixels wide: scrolls sideways`);
      }
      return [...found, ...complaints.splice(0)].map((text) => `${name}: ${text}`);
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
