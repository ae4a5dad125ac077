import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BrowserContext, Locator, Page } from 'playwright-core';
import { openChromium } from '../chromium.ts';
import { type RunningServer, root } from '../server.ts';
import type { Visitor } from './world.ts';

/** A browser that has signed in through the sign-in page. */
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

/** Waits until the page has its heading and everything is loaded. */
export async function settled(page: Page): Promise<void> {
  await page.getByRole('heading', { level: 1 }).first().waitFor();
  await page.waitForFunction(() => document.querySelector('[role=status][aria-label=Loading]') === null);
  // A page that follows a log never becomes idle.
  await page.waitForLoadState('networkidle', { timeout: 2_500 }).catch(() => {});
}

/** Collects errors and warnings of the page. */
export function complaintsOf(page: Page): string[] {
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  return complaints;
}

const source = readFileSync(join(root, 'node_modules', 'axe-core', 'axe.min.js'), 'utf8');

/** The violations of WCAG 2.2 AA and of good practice on the page. */
export async function violationsOf(page: Page, only?: 'color-contrast'): Promise<string[]> {
  // Evaluated, not loaded: the page's content security policy allows no other script.
  await page.evaluate(source);
  return page.evaluate(async (rule) => {
    interface Found {
      id: string;
      help: string;
      nodes: { target: unknown[]; failureSummary?: string }[];
    }
    const { axe } = globalThis as unknown as {
      axe: { run(options: object): Promise<{ violations: Found[] }> };
    };
    const { violations } = await axe.run({
      resultTypes: ['violations'],
      ...(rule ? { runOnly: [rule] } : {}),
    });
    return violations.map(
      ({ id, help, nodes }) =>
        `${id}: ${help}: ${nodes
          .slice(0, 4)
          .map(
            ({ target, failureSummary }) =>
              `${target.join(' ')} (${failureSummary?.split('\n').at(-1)?.trim()})`,
          )
          .join('; ')}`,
    );
  }, only);
}

/** The accessible description of a disabled button; null for an enabled one. */
export async function reasonOf(button: Locator): Promise<string | null> {
  const id = await button.getAttribute('aria-describedby');
  return id === null ? null : button.page().locator(`[id="${id}"]`).textContent();
}
