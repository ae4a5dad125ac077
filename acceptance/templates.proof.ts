import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BrowserContext } from 'playwright-core';
import { openChromium } from './support/chromium.ts';
import { admin, run, type Svc, svcFor } from './support/commands.ts';
import { caller, newPasswordUser, type PasswordUser, type Person } from './support/people.ts';
import { type RunningServer, startServer, temporaryFolder } from './support/server.ts';
import { askHost, type SiteGround, visitorCookie } from './support/sites.ts';
import { keepAsking, until } from './support/until.ts';

// From nothing to a running app with one command, with each built-in template: minutes of downloads and builds. Needs
// npm's registry, git and Chromium.

let server: RunningServer;
let svc: Svc;
let visitor: PasswordUser;
let browser: BrowserContext;
beforeAll(async () => {
  server = await startServer({ finds: 'nothing', command: ['npm', 'start'], readyMs: 120_000 });
  svc = svcFor(server);
  expect((await svc(['login', '--local'])).code).toBe(0);
  visitor = await newPasswordUser(server, 'demo');
  browser = await openChromium({ width: 1100, height: 800 });
});
afterAll(async () => {
  await browser.close();
  await server.stop();
});

const minutes = 60_000;
const word = /"It runs\.|It runs\./;
/** Where the line stands that is changed. */
const pages = { react: 'src/App.tsx', nextjs: 'app/page.tsx', astro: 'src/pages/index.astro' } as const;

test.each(Object.keys(pages) as (keyof typeof pages)[])(
  '%s: bootstrapped, shown in a browser, cloned, and a pushed change is live without a failed request',
  async (template) => {
    const slug = `hello-${template}`;
    const words = ['apps', 'bootstrap', '--template', template, '--slug', slug, '--execute', '--watch'];
    const made = await svc([...words, '--watch-timeout', '15m', '--json']);
    expect([made.code, made.stderr.slice(-2_000)]).toEqual([0, expect.anything()]);
    const run = made.json<{ state: string; url: string; clone_url: string; app_id: string }>();
    expect(run.state).toBe('done');
    const shared = ['apps', 'co-owners', 'add', '--app', slug, '--user', visitor.id, '--execute'];
    expect((await svc(shared)).code).toBe(0);

    await lookAt(run.url);
    const folder = await clone(run.clone_url);
    const { answers, failed } = await whilePushing(slug, run.url, () => push(folder, pages[template]));
    console.log(`${template}: ${answers} answers while the change came, ${failed.length} failed`);
    expect(failed).toEqual([]);
    expect(answers).toBeGreaterThan(50);
  },
);

/** As somebody who was given the address: signs in to see it, signs in to the app, writes a note. */
async function lookAt(url: string): Promise<void> {
  const page = await browser.newPage();
  const unanswered = new Set<unknown>();
  page.on('request', (request) => unanswered.add(request));
  for (const end of ['requestfinished', 'requestfailed'] as const)
    page.on(end as 'requestfailed', (request) => unanswered.delete(request));
  await page.goto(url);
  if (await page.locator('input[type=password]').count()) {
    await page.locator('input[name=email], input[type=email]').first().fill(visitor.email);
    await page.locator('input[type=password]').fill(visitor.password);
    await page.keyboard.press('Enter');
  }
  await page.getByRole('heading', { name: 'It runs.' }).waitFor();
  await page.getByRole('button', { name: 'Sign in' }).click();
  const field = page.getByPlaceholder('Write something down');
  const consent = page.getByRole('button', { name: /continue|allow/i });
  await field.or(consent).first().waitFor();
  if (!(await field.isVisible())) await consent.first().click();
  const note = `seen ${Bun.randomUUIDv7().slice(-8)}`;
  // Next.js has an empty one of its own.
  const problem = page.getByRole('alert').filter({ hasText: /\S/ });
  const shown = field.or(problem).filter({ visible: true }).first();
  await shown.waitFor().catch(async (cause) => {
    const text = await page.locator('body').innerText();
    throw new Error(`${page.url()} with ${unanswered.size} unanswered requests shows: ${text}`, { cause });
  });
  expect(await problem.allTextContents()).toEqual([]);
  await field.fill(note);
  await page.getByRole('button', { name: 'Add' }).click();
  await page.getByText(note).or(problem).first().waitFor();
  expect(await problem.allTextContents()).toEqual([]);
  await page.close();
}

async function clone(url: string): Promise<string> {
  const folder = join(temporaryFolder(), 'clone');
  const cloned = await run(['git', 'clone', '--quiet', withToken(url), folder]);
  expect([cloned.code, cloned.stderr]).toEqual([0, '']);
  return folder;
}

let token = '';
function withToken(url: string): string {
  const address = new URL(url);
  Object.assign(address, { username: 'x', password: token });
  return address.href;
}

async function push(folder: string, file: string): Promise<void> {
  const path = join(folder, file);
  writeFileSync(path, readFileSync(path, 'utf8').replace(word, 'It changed.'));
  const who = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.test'];
  for (const words of [
    [...who, 'commit', '--quiet', '-am', 'A change'],
    ['push', '--quiet'],
  ]) {
    const ended = await run(['git', ...words], { cwd: folder });
    const expected = words.includes('push') ? /^remote: Deployment #2 of \S+: building/ : /^$/;
    expect([words, ended.code, ended.stderr]).toEqual([words, 0, expect.stringMatching(expected)]);
  }
}

/** Asks for the page all the time, before, while and after the change comes. */
async function whilePushing(slug: string, url: string, work: () => Promise<void>) {
  const { hostname } = new URL(url);
  const person = { call: caller(server, { authorization: `Bearer ${token}` }) } as Person;
  const cookie = await visitorCookie({ server, host: hostname } as SiteGround, person);
  const ask = () =>
    askHost(server, `${hostname}:${server.port}`, '/', { headers: { cookie, accept: 'text/html' } });
  const failed: string[] = [];
  let answers = 0;
  const asking = keepAsking(
    async () => {
      const { status, text } = await ask();
      answers++;
      if (status !== 200) failed.push(`${status} ${text.slice(0, 100)}`);
    },
    { pauseMs: 50 },
  );
  try {
    await work();
    await until(
      'the second deployment is live',
      async () => {
        const listed = await svc(['deployments', 'list', '--app', slug, '--json']);
        const items = listed.json<{ items: { seq: number; state: string }[] }>().items;
        return items.some(({ seq, state }) => seq === 2 && state === 'live');
      },
      6 * minutes,
    );
    if (slug !== 'hello-react')
      await until('the page has changed', async () => (await ask()).text.includes('It changed.'));
  } finally {
    await asking.stop();
  }
  return { answers, failed };
}

beforeAll(async () => {
  const issued = await admin(server, ['tokens', 'issue', '--user', 'admin@demo.localhost', '--ttl', '2h']);
  token = issued.access_token!;
});
