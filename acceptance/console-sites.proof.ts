import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import type { BrowserContext, Page } from 'playwright-core';
import { hasChromium } from './support/chromium.ts';
import {
  browserOf,
  complaintsOf,
  reasonOf,
  violationsOf,
  waitUntilLoaded,
} from './support/console/browsing.ts';
import { type ConsoleWorld, newConsoleTenant } from './support/console/world.ts';
import { setApp } from './support/database.ts';
import { done } from './support/people.ts';
import { folderOf, sharedEmbedded } from './support/server.ts';

const html = (text: string) =>
  `<!doctype html><html lang="en"><title>Leaflet</title>\n<h1>${text}</h1>\n</html>`;

describe.if(hasChromium)('sites, domains and storage in the console', () => {
  let world: Pick<ConsoleWorld, 'server' | 'tenant' | 'admin' | 'owner'>;
  let owner: BrowserContext;
  let admin: BrowserContext;
  beforeAll(async () => {
    const tenant = await newConsoleTenant(await sharedEmbedded(), 'Northwind');
    world = { server: tenant.server, tenant, admin: tenant.admin, owner: tenant.member };
    [owner, admin] = await Promise.all([
      browserOf(world.server, world.owner),
      browserOf(world.server, world.admin),
    ]);
  });
  afterAll(() => Promise.all([owner?.close(), admin?.close()]));

  async function open(browser: BrowserContext, path: string): Promise<{ page: Page; complaints: string[] }> {
    const page = await browser.newPage();
    const complaints = complaintsOf(page);
    await page.goto(`${world.server.baseUrl}/t/${world.tenant.slug}/apps/${path}`);
    await waitUntilLoaded(page);
    return { page, complaints };
  }

  /** Confirms the preview. */
  async function confirm(page: Page, title: string | RegExp, verb: string, word?: string) {
    const dialog = page.getByRole('dialog', { name: title });
    await dialog.getByText('the following changes will be made').waitFor();
    if (word !== undefined) await dialog.getByLabel(`Type “${word}” to confirm`).fill(word);
    await dialog.getByRole('button', { name: verb, exact: true }).click();
    await dialog.waitFor({ state: 'hidden' });
  }

  async function deployFolder(page: Page, files: Record<string, string>, version: string) {
    await page.getByLabel('Folder to deploy').setInputFiles(folderOf(files));
    await page.getByLabel('Version').fill(version);
    await page.getByRole('button', { name: 'Deploy', exact: true }).click();
    await confirm(page, 'Deploy a folder', 'Upload');
    await confirm(page, 'Finish the release', 'Finish');
  }

  test('a folder is deployed, the next one staged, compared, requested, approved and visible', async () => {
    const { tenant } = world;
    const app = await done(
      world.owner.call('POST', `${tenant.base}/apps`, { name: 'Leaflet', deploy_method: 'static' }),
    );
    const base = `${tenant.base}/apps/${app.id}/static`;
    const { page, complaints } = await open(owner, `${app.slug}/releases`);
    await page.getByRole('heading', { name: 'No releases yet' }).waitFor();

    const first = {
      'index.html': html('One'),
      'old.html': html('Old'),
      'style.css': 'h1 { color: teal }',
      'node_modules/x/index.js': 'no part of it',
      '.env': 'SECRET=1',
    };
    await page.getByLabel('Folder to deploy').setInputFiles(folderOf(first));
    await page.getByText('.env, node_modules:').waitFor();
    await page.getByText('3 files').waitFor();
    await deployFolder(page, first, '1.0');
    await page.getByText('The release is live.').waitFor();
    const { active_release, url } = await done(world.owner.call('GET', `${base}/site`));
    expect(active_release).toMatchObject({ version: '1.0', files: 3, state: 'finalized' });

    await page.getByRole('button', { name: 'Enable staging' }).click();
    await confirm(page, 'Enable staging', 'Enable staging');
    await page.getByRole('button', { name: 'Disable staging' }).waitFor();
    // The state after a review of a publication; the change that follows invalidates the server's caches.
    await setApp(world.server, app.id, { visibility: 'public' });
    await done(world.owner.call('PATCH', `${tenant.base}/apps/${app.id}`, { summary: 'For all' }));
    await deployFolder(
      page,
      { 'index.html': html('Two'), 'new.html': html('New'), 'style.css': first['style.css'] },
      '2.0',
    );
    await page.getByText('The release is staged. Check it').waitFor();
    expect(await violationsOf(page)).toEqual([]);

    await page.getByRole('link', { name: 'Show release', exact: true }).click();
    await page.getByText('1 added, 1 changed, 1 removed, 1 unchanged.').waitFor();
    const files = page.getByRole('table', { name: 'Files of the release' });
    const cells = (name: string) => files.getByRole('row', { name }).getByRole('cell').first().innerText();
    expect([await cells('index.html'), await cells('new.html'), await cells('old.html')]).toEqual([
      'changed',
      'added',
      'removed',
    ]);
    await files.getByRole('link', { name: 'index.html' }).click();
    const compared = page.getByRole('dialog', { name: 'index.html' });
    await compared.getByText('<h1>Two</h1>').waitFor();
    expect(await compared.getByRole('row').allInnerTexts()).toEqual(
      expect.arrayContaining([expect.stringContaining('<h1>One</h1>')]),
    );
    expect(await violationsOf(page)).toEqual([]);
    await page.goBack();
    await compared.waitFor({ state: 'hidden' });

    // Actions that are not allowed are shown, with the reason.
    const approve = page.getByRole('button', { name: 'Approve' });
    expect(await approve.getAttribute('aria-disabled')).toBe('true');
    expect(await reasonOf(approve)).toContain('Only tenant admins may do this.');
    const activate = page.getByRole('button', { name: 'Activate' });
    expect(await reasonOf(activate)).toContain('a review comes first');

    await page.getByRole('button', { name: 'Request promotion' }).click();
    await page.getByLabel('What should reviewers look at?').fill('the new front page');
    await page.getByRole('button', { name: 'Preview' }).click();
    await confirm(page, 'Request promotion', 'Request promotion');
    await page.getByText('Promotion is waiting for review', { exact: true }).waitFor();

    const review = await open(admin, `${app.slug}/releases/${page.url().split('/').at(-1)}`);
    await review.page.getByText('“the new front page”').waitFor();
    await review.page.getByRole('link', { name: 'index.html' }).click();
    await review.page.getByText('<h1>Two</h1>').waitFor();
    await review.page.keyboard.press('Escape');
    await review.page.getByRole('dialog').waitFor({ state: 'hidden' });
    expect(await violationsOf(review.page)).toEqual([]);
    await review.page.getByRole('button', { name: 'Approve' }).click();
    await review.page.getByLabel('Note for the requester').fill('good');
    await review.page.getByRole('button', { name: 'Preview' }).click();
    await confirm(review.page, 'Approve the promotion', 'Approve');
    await review.page.getByText('Promotion approved', { exact: true }).waitFor();
    const site = await done(world.owner.call('GET', `${base}/site`));
    expect(site.active_release).toMatchObject({ version: '2.0', reviewed_for: 'public' });

    expect([...complaints, ...review.complaints]).toEqual([]);
    await page.goto(url);
    await page.getByRole('heading', { name: 'Two' }).waitFor();
  });

  test('leaving the page during an upload stops it without a question', async () => {
    const app = await done(
      world.owner.call('POST', `${world.tenant.base}/apps`, { name: 'Left', deploy_method: 'static' }),
    );
    const { page } = await open(owner, `${app.slug}/releases`);
    // A connection so slow that no file arrives.
    await page.route('**/*', (route) => (route.request().method() === 'PUT' ? undefined : route.continue()));
    await page.getByLabel('Folder to deploy').setInputFiles(folderOf({ 'index.html': html('Never') }));
    await page.getByRole('button', { name: 'Deploy', exact: true }).click();
    await confirm(page, 'Deploy a folder', 'Upload');
    await page.getByText('Uploading missing files').waitFor();
    await Promise.all([
      page.waitForEvent('requestfailed', (request) => request.method() === 'PUT'),
      page.getByRole('tab', { name: 'People' }).click(),
    ]);
    await waitUntilLoaded(page);
    expect(await page.getByRole('dialog').count()).toBe(0);
    const { items } = await done(
      world.owner.call('GET', `${world.tenant.base}/apps/${app.id}/static/releases`),
    );
    expect(items).toMatchObject([{ state: 'draft' }]);
    await page.close();
  });

  test('files are uploaded, viewed, downloaded and deleted', async () => {
    const app = await done(world.owner.call('POST', `${world.tenant.base}/apps`, { name: 'Rooms' }));
    const base = `${world.tenant.base}/apps/${app.id}/storage`;
    await done(world.owner.call('POST', `${base}/enable`));
    const january = { key: 'exports/2027/january.csv', content_type: 'text/csv' };
    const { put_url, headers } = await done(world.owner.call('POST', `${base}/upload-url`, january));
    expect((await fetch(put_url, { method: 'PUT', headers, body: 'room,seats\n' })).status).toBe(201);
    const { page, complaints } = await open(owner, `${app.slug}/storage`);
    await page.getByRole('link', { name: 'exports' }).click();
    await page.getByRole('link', { name: '2027' }).waitFor();
    await page.getByLabel('Files to upload').setInputFiles([
      { name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('all is well') },
      { name: 'b c.bin', mimeType: '', buffer: Buffer.from([0, 1, 2]) },
    ]);
    await page.getByRole('button', { name: 'Upload', exact: true }).click();
    await confirm(page, 'Upload files', 'Upload');
    await page.getByText('All files uploaded.').waitFor();
    await page.getByRole('link', { name: 'notes.txt' }).click();
    const object = page.getByRole('dialog', { name: 'exports/notes.txt' });
    await object.getByText('all is well').waitFor();
    expect(await violationsOf(page)).toEqual([]);
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      object.getByRole('link', { name: 'Download' }).click(),
    ]);
    expect(readFileSync(await download.path(), 'utf8')).toBe('all is well');
    await object.getByRole('button', { name: 'Create link' }).click();
    const link = await object.getByText('/objects/').innerText();
    expect(await (await fetch(link)).text()).toBe('all is well');
    await page.keyboard.press('Escape');

    await page.getByLabel('Select exports/notes.txt').check();
    await page.getByLabel('Select exports/b c.bin').check();
    await page.getByRole('button', { name: 'Delete' }).click();
    await confirm(page, 'Delete files', 'Delete', 'Delete');
    await page.getByLabel('Select exports/notes.txt').waitFor({ state: 'detached' });
    const { items } = await done(world.owner.call('GET', `${base}/objects?prefix=exports/`));
    expect(items.map(({ key }: { key: string }) => key)).toEqual(['exports/2027/january.csv']);
    expect(complaints).toEqual([]);
  });

  test('a domain is added, shows its records and is removed', async () => {
    const app = await done(world.owner.call('POST', `${world.tenant.base}/apps`, { name: 'Handbook' }));
    const base = `${world.tenant.base}/apps/${app.id}/domains`;
    const { page, complaints } = await open(owner, `${app.slug}/domains`);
    await page.getByLabel('Host name').fill('handbook.northwind.example');
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await confirm(page, 'Add a domain', 'Add');
    const records = page.getByRole('table', { name: 'DNS records of handbook.northwind.example' });
    await records.waitFor();
    const { items } = await done(world.owner.call('GET', base));
    for (const { name, value } of items[0].records) {
      await records.getByText(name, { exact: true }).first().waitFor();
      await records.getByText(value, { exact: true }).waitFor();
    }
    await records.getByRole('button', { name: 'Copy value of the TXT record' }).waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await page.getByRole('button', { name: 'Remove' }).click();
    await confirm(page, 'Remove handbook.northwind.example', 'Remove');
    await page.getByRole('heading', { name: 'No domains' }).waitFor();

    const seen = await open(admin, `${app.slug}/domains`);
    const add = seen.page.getByRole('button', { name: 'Add' });
    expect(await reasonOf(add)).toContain('Only its owner and its co-owners may do this.');
    expect([...complaints, ...seen.complaints]).toEqual([]);
  });
});
