import { existsSync } from 'node:fs';
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from 'playwright-core';
import { patientMs } from '../../scripts/patience.ts';
import { temporaryFolder } from './server.ts';

const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(
  (path) => existsSync(path),
);

export const hasChromium = executablePath !== undefined;

let launched: Promise<Browser> | undefined;

/** A browser context with a new, empty profile. */
export async function openChromium({
  width,
  height,
  ...more
}: { width: number; height: number } & BrowserContextOptions): Promise<BrowserContext> {
  // One process for all profiles: its start takes longer than most tests.
  launched ??= launch();
  const context = await (await launched).newContext({
    viewport: { width, height },
    colorScheme: 'light',
    // Each frame of an animation is drawn by the processor.
    reducedMotion: 'reduce',
    ...more,
  });
  context.setDefaultTimeout(patientMs(30_000));
  return context;
}

/** At the sign-in page. */
export async function signInAt(page: Page, { email, password }: { email: string; password: string }) {
  await page.getByLabel(/e-mail/i).fill(email);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

const disabledFeatures = [
  // The list of the address bar is a page of its own in each window, and takes as long to load as the console.
  'WebUIOmniboxPopup',
  'WebUIOmniboxAimPopup',
  // Only the last --disable-features counts, so the list of Playwright 1.65 is repeated.
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'DestroyProfileOnBrowserClose',
  'HttpsUpgrades',
  'HttpsFirstBalancedModeAutoEnable',
  'LensOverlay',
  'MediaRouter',
  'PaintHolding',
  'ThirdPartyStoragePartitioning',
  'AvoidCorsURLLoaderRestartOnRedirect',
  'OptimizationHints',
  'NetworkTimeServiceQuerying',
  'AimEnabled',
  'PreconnectToSearch',
];

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
      `--disable-features=${disabledFeatures.join()}`,
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
