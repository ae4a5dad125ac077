import type { BrowserContext, Page } from 'playwright-core';
import { openChromium } from '../chromium.ts';
import type { RunningServer } from '../server.ts';
import type { Visitor } from './world.ts';

/** Signed in through the sign-in page, as people are. */
export async function browserOf(
  server: RunningServer,
  visitor: Pick<Visitor, 'email' | 'password'>,
  look: Parameters<typeof openChromium>[0] = { width: 1280, height: 900 },
): Promise<BrowserContext> {
  const browser = await openChromium(look);
  const page = await browser.newPage();
  await page.goto(`${server.baseUrl}/login`);
  await page.getByLabel(/e-mail/i).fill(visitor.email);
  await page.getByLabel('Password').fill(visitor.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.close();
  return browser;
}

/** All that it loads is there, and it has a title. */
export async function settled(page: Page): Promise<void> {
  await page.getByRole('heading', { level: 1 }).first().waitFor();
  await page.waitForFunction(() => document.querySelector('[role=status][aria-label=Loading]') === null);
  // A page that follows something never stops asking.
  await page.waitForLoadState('networkidle', { timeout: 2_500 }).catch(() => {});
}

/** What the page complained about; empty is as it should be. */
export function complaintsOf(page: Page): string[] {
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  return complaints;
}
