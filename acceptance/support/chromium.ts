import { existsSync } from 'node:fs';
import { type Browser, type BrowserContext, chromium } from 'playwright-core';
import { patientMs } from '../../scripts/patience.ts';
import { temporaryFolder } from './server.ts';

const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(
  (path) => existsSync(path),
);

export const hasChromium = executablePath !== undefined;
export const needsChromium = /\bchromium\b/.test(process.env.SVC_TEST_REQUIRE ?? '');

let launched: Promise<Browser> | undefined;

/** A browser context with a new, empty profile. */
export async function openChromium(options: {
  width: number;
  height: number;
  colorScheme?: 'light' | 'dark';
  userAgent?: string;
  headers?: Record<string, string>;
}): Promise<BrowserContext> {
  // One process for all profiles: its start takes longer than most tests.
  launched ??= launch();
  const context = await (await launched).newContext({
    viewport: { width: options.width, height: options.height },
    colorScheme: options.colorScheme ?? 'light',
    ...(options.userAgent && { userAgent: options.userAgent }),
    ...(options.headers && { extraHTTPHeaders: options.headers }),
  });
  context.setDefaultTimeout(patientMs(30_000));
  return context;
}

async function launch(): Promise<Browser> {
  // The profile is deleted with the folders of the tests.
  const { TMPDIR } = process.env;
  process.env.TMPDIR = temporaryFolder();
  const browser = await chromium.launch({
    executablePath: executablePath ?? '',
    headless: true,
    timeout: patientMs(60_000),
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
  if (TMPDIR === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = TMPDIR;
  // After a crash the next test starts another.
  browser.on('disconnected', () => {
    launched = undefined;
  });
  return browser;
}
