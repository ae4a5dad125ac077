import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import type { BrowserContext, Page } from 'playwright-core';
import { type NodeApp, newNodeApp } from './support/apps.ts';
import { hasChromium, openChromium } from './support/chromium.ts';
import { browserOf, complaintsOf, waitUntilLoaded } from './support/console/browsing.ts';
import { type ConsoleTenant, newConsoleTenant, newVisitor, type Visitor } from './support/console/world.ts';
import { git, mustGit } from './support/git.ts';
import { done, newPasswordUser, type Person } from './support/people.ts';
import { type Files, sharedServer } from './support/server.ts';

/**
 * A guest book with a server: it greets its visitor by the platform's header, and reads and writes its table and its
 * storage as the app itself. Its page also signs the visitor in by OpenID.
 */
const guestbook = (title: string): Files => ({
  'svc.yaml': `start: node server.mjs
previews: { branches: ["feature/*"], seed: seed.json }
tables: { guests: { columns: [name:text, file:text:nullable] } }
`,
  'seed.json': JSON.stringify({ guests: [{ name: 'Guest of the seed' }] }),
  'server.mjs': `
import { createServer } from 'node:http';
import { createClient } from './sdk/index.js';
import { userOf } from './sdk/server.js';
const client = createClient();
const guests = client.table('guests');
const { SVC_BASE_URL: baseUrl, SVC_APP_ID: appId } = process.env;
const settings = JSON.stringify({ baseUrl, appId });
const escaped = (text) => text.replace(/[&<"]/g, (sign) => '&#' + sign.charCodeAt(0) + ';');
async function answer(request, response) {
  const user = await userOf(request);
  if (user === null) return response.writeHead(401).end('Nobody is signed in.');
  if (request.method === 'POST') {
    const file = 'cards/' + Date.now() + '.txt';
    await client.storage.put(file, 'Card of ' + user.name, { contentType: 'text/plain' });
    await guests.insert({ name: user.name, file });
    return response.writeHead(303, { location: '/' }).end();
  }
  const { data } = await guests.list();
  const items = await Promise.all(data.map(async ({ name, file }) => '<li>' + escaped(name) +
    (file === null ? '' : ' <a download href="' + escaped((await client.storage.url(file, { expiresIn: 60 })).url) + '">Card</a>')));
  response.setHeader('content-type', 'text/html').end(\`<!doctype html><html lang="en"><title>Guests</title>
<h1>${title}</h1><p>Hello \${escaped(user.name)} (\${user.relation})</p><ul>\${items.join('')}</ul>
<form method="post"><button>Add me</button></form><button id="sign-in">Sign in</button><output></output>
<script type="module">
import { createSignIn } from '/.svc/sdk.js';
const signIn = createSignIn({ ...\${settings}, redirectUri: location.origin + '/' });
document.querySelector('#sign-in').onclick = () => signIn.signIn();
const back = await signIn.handleRedirect();
if (back) document.querySelector('output').textContent = 'The page knows ' + back.user.email;
</script>\`);
}
createServer((request, response) => {
  if (!/^[/]([?]|$)/.test(request.url)) return response.writeHead(204).end();
  answer(request, response).catch((error) => response.writeHead(500).end(String(error)));
}).listen(process.env.PORT);
`,
});

describe.if(hasChromium)('an app with a server, in a browser', () => {
  let tenant: ConsoleTenant;
  let app: NodeApp;
  let url: string;
  let olga: BrowserContext;
  let max: BrowserContext;
  beforeAll(async () => {
    const server = await sharedServer();
    tenant = await newConsoleTenant(server, 'Guests');
    app = await newNodeApp(tenant, guestbook('Guest book'));
    const { call } = tenant.member;
    await done(call('POST', `${app.base}/storage/enable`));
    app.copy.write(await sdkFiles(server.baseUrl));
    expect(await push('main')).toContain(': live at ');
    ({ url } = await done(call('GET', app.base)));
    await publish(tenant, app);
    await done(call('POST', `${app.base}/members`, { user_id: tenant.outsider.id }));
    [olga, max] = await Promise.all([browserOf(server, tenant.member), browserOf(server, tenant.outsider)]);
  });
  afterAll(() => Promise.all([olga, max].map((browser) => browser?.close())));

  async function push(branch: string): Promise<string> {
    const { folder } = app.copy;
    await mustGit(['add', '-A'], folder);
    await mustGit(['commit', '-q', '-m', branch], folder);
    return (await git(['push', '-o', 'wait', 'origin', `HEAD:refs/heads/${branch}`], folder)).stderr;
  }
  const listed = (page: Page) => page.getByRole('listitem').allTextContents();

  test('greets its visitors and keeps their rows and files with its own identity', async () => {
    const page = await max.newPage();
    const complaints = complaintsOf(page);
    await page.goto(url);
    await page.getByText('Hello Max Member (member)').waitFor();
    await page.getByRole('button', { name: 'Add me' }).click();
    await page.getByRole('listitem').filter({ hasText: 'Max Member' }).waitFor();
    expect(page.url()).toBe(url);

    // What one visitor has left is there for the next one.
    const other = await olga.newPage();
    await other.goto(url);
    await other.getByText('Hello Olga Owner (owner)').waitFor();
    expect(await listed(other)).toEqual(['Max Member Card']);
    const [download] = await Promise.all([
      other.waitForEvent('download'),
      other.getByRole('link', { name: 'Card' }).click(),
    ]);
    expect(readFileSync(await download.path(), 'utf8')).toBe('Card of Max Member');

    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText(`The page knows ${tenant.outsider.email}`).waitFor();
    expect([new URL(page.url()).origin, complaints]).toEqual([new URL(url).origin, []]);
  });

  test('has a preview of a branch, with rows of its own, for the people of the app and nobody else', async () => {
    app.copy.write(guestbook('Guest book, second edition'));
    const said = await push('feature/second');
    const [, address = ''] = /Preview of feature\/second: (\S+)/.exec(said) ?? [];
    expect(address).toStartWith('http');
    const before = await olga.newPage();
    await before.goto(url);
    const rows = await listed(before);

    const tab = await olga.newPage();
    await tab.goto(`${tenant.server.baseUrl}/t/${tenant.slug}/apps/${app.slug}/deployments`);
    await waitUntilLoaded(tab);
    const link = tab.getByRole('link', { name: 'feature/second' });
    const [owned] = await Promise.all([olga.waitForEvent('page'), link.click()]);
    await owned.getByRole('heading', { name: 'Guest book, second edition' }).waitFor();
    expect(await listed(owned)).toEqual(['Guest of the seed']);

    const page = await max.newPage();
    await page.goto(address);
    await page.getByText('Hello Max Member (member)').waitFor();
    await page.getByRole('button', { name: 'Add me' }).click();
    await page.getByRole('listitem').filter({ hasText: 'Max Member' }).waitFor();
    await page.getByRole('button', { name: 'Sign in' }).click();
    // Nobody has reviewed the code of a branch.
    await page.getByRole('button', { name: 'Allow' }).click();
    await page.getByText(`The page knows ${tenant.outsider.email}`).waitFor();
    expect(await listed(page)).toEqual(['Guest of the seed', expect.stringContaining('Max Member')]);
    await before.reload();
    expect([await before.getByRole('heading').textContent(), await listed(before)]).toEqual([
      'Guest book',
      rows,
    ]);

    const { server } = tenant;
    const strangers: Pick<Visitor, 'email' | 'password'>[] = [
      await newVisitor(server, tenant.slug, 'Otto Other'),
      await newPasswordUser(server, undefined, { name: 'Uma Unknown' }),
    ];
    for (const stranger of strangers) {
      const browser = await browserOf(server, stranger);
      const refused = await browser.newPage();
      const response = await refused.goto(address);
      expect([stranger.email, response?.status()]).toEqual([stranger.email, 404]);
      expect(await refused.content()).not.toContain('second edition');
      await browser.close();
    }
    const anonymous = await openChromium({ width: 800, height: 600 });
    const signIn = await anonymous.newPage();
    await signIn.goto(address);
    await signIn.getByLabel('Password').waitFor();
    expect(new URL(signIn.url()).origin).toBe(server.baseUrl);
    await anonymous.close();
  });
});

/** An admin approves that the app is for invited people. */
async function publish(tenant: ConsoleTenant, { base, owner }: { base: string; owner: Person }) {
  const wanted = { visibility: 'invite_only' };
  const { id } = await done(owner.call('POST', `${base}/publication-requests`, wanted));
  await done(tenant.admin.call('POST', `${tenant.base}/reviews/${id}/approve`, { note: '' }));
}

/** The files of the SDK as `npm i <base>/sdk.tgz` would install them. */
async function sdkFiles(baseUrl: string): Promise<Files> {
  const archive = new Bun.Archive(await (await fetch(`${baseUrl}/sdk.tgz`)).bytes());
  const files = await archive.files();
  const text = async (name: string) => [`sdk/${name}`, await files.get(`package/${name}`)!.text()] as const;
  return Object.fromEntries(await Promise.all(['index.js', 'server.js'].map(text)));
}
