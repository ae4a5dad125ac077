import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type BrowserContext, chromium } from 'playwright-core';
import { temporaryFolder } from './server.ts';

const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(
  (path) => existsSync(path),
);

export const hasChromium = executablePath !== undefined;
export const needsChromium = /\bchromium\b/.test(process.env.SVC_TEST_REQUIRE ?? '');

/** A real browser with a new, empty profile; it talks to nobody but the page's own server. */
export function openChromium(options: {
  width: number;
  height: number;
  colorScheme?: 'light' | 'dark';
}): Promise<BrowserContext> {
  return chromium.launchPersistentContext(join(temporaryFolder(), 'profile'), {
    executablePath: executablePath ?? '',
    headless: true,
    viewport: { width: options.width, height: options.height },
    colorScheme: options.colorScheme ?? 'light',
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}
