import { existsSync } from 'node:fs';
import { type Browser, type BrowserContext, chromium } from 'playwright-core';
import { atEnd } from './server.ts';

const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(
  (path) => existsSync(path),
);

export const hasChromium = executablePath !== undefined;
export const needsChromium = /\bchromium\b/.test(process.env.SVC_TEST_REQUIRE ?? '');

let launched: Promise<Browser> | undefined;

/** A real browser with a new, empty profile; it talks to nobody but the page's own server. */
export async function openChromium(options: {
  width: number;
  height: number;
  colorScheme?: 'light' | 'dark';
}): Promise<BrowserContext> {
  // To start it takes longer than most of what is done with it: profiles are apart, the program is one.
  launched ??= launch();
  return (await launched).newContext({
    viewport: { width: options.width, height: options.height },
    colorScheme: options.colorScheme ?? 'light',
  });
}

async function launch(): Promise<Browser> {
  const browser = await chromium.launch({
    executablePath: executablePath ?? '',
    headless: true,
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
  atEnd(() => browser.close());
  // One that has ended is of no use to those who come.
  browser.on('disconnected', () => {
    launched = undefined;
  });
  return browser;
}
