import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BrowserContext, Locator, Page, Request } from 'playwright-core';
import { TestBrowser } from '../../../server/src/identity/provider/browser-testing.ts';
import { openChromium } from '../chromium.ts';
import { type RunningServer, root } from '../server.ts';
import type { Visitor } from './world.ts';

/** A browser that is signed in. Its cookies come from the sign-in page without the console, which takes long to load. */
export async function browserOf(
  server: RunningServer,
  visitor: Pick<Visitor, 'email' | 'password'>,
  look: Parameters<typeof openChromium>[0] = { width: 1280, height: 900 },
): Promise<BrowserContext> {
  const signIn = new TestBrowser(server.baseUrl);
  const { email, password } = visitor;
  const { status } = await signIn.press(await signIn.open('/login'), 'Sign in', { email, password });
  if (status !== 200) throw new Error(`${email} could not sign in: ${status}`);
  const browser = await openChromium(look);
  const domain = new URL(server.baseUrl).hostname;
  const cookies = signIn.cookies.map(({ name, value, path }) => ({ name, value, path, domain }));
  await browser.addCookies(cookies);
  return browser;
}

/** Waits until the page has its heading and everything is loaded. */
export async function waitUntilLoaded(page: Page): Promise<void> {
  await page.getByRole('heading', { level: 1 }).first().waitFor();
  await page.waitForFunction(() => document.querySelector('[role=status][aria-label=Loading]') === null);
  // A page that follows a log never becomes idle.
  await page.waitForLoadState('networkidle', { timeout: 2_500 }).catch(() => {});
}

/** Whether requests of the page are under way. */
export function loadingOf(page: Page): () => boolean {
  const open = new Set<Request>();
  page.on('request', (request) => open.add(request));
  page.on('requestfinished', (request) => open.delete(request));
  page.on('requestfailed', (request) => open.delete(request));
  return () => open.size > 0;
}

/** Waits until nothing is loaded and the page has shown what it loaded. */
export async function waitUntilIdle(page: Page, isLoading: () => boolean): Promise<void> {
  await page.waitForFunction(() => document.querySelector('[role=status][aria-label=Loading]') === null);
  let isQuiet = false;
  // A page that follows a log never becomes idle.
  for (let tries = 0; tries < 50 && !isQuiet; tries++) {
    const wasQuiet = !isLoading();
    await page.evaluate(() => new Promise((done) => requestIdleCallback(done, { timeout: 500 })));
    isQuiet = wasQuiet && !isLoading();
  }
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
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(source);
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
