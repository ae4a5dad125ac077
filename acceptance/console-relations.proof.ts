import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { BrowserContext, Page } from 'playwright-core';
import { hasChromium } from './support/chromium.ts';
import {
  browserOf,
  complaintsOf,
  reasonOf,
  violationsOf,
  waitUntilLoaded,
} from './support/console/browsing.ts';
import { newConsoleTenant, type Visitor } from './support/console/world.ts';
import { done, newApp } from './support/people.ts';
import { startEmbedded } from './support/server.ts';
import { until } from './support/until.ts';

describe.if(hasChromium)('related rows in the console', () => {
  let owner: Visitor;
  let browser: BrowserContext;
  let place: { console: string; data: string; policies: string; app: string };
  const ids: Record<string, string> = {};

  beforeAll(async () => {
    const server = await startEmbedded();
    const tenant = await newConsoleTenant(server, 'Relations');
    owner = tenant.admin;
    const app = await newApp(tenant, { owner }, { name: 'Blog' });
    place = {
      console: `${server.baseUrl}/t/${tenant.slug}/apps/${app.slug}`,
      data: `/data/${tenant.slug}/${app.slug}`,
      policies: `${tenant.base}/access-policies`,
      app: app.slug,
    };
    const tables = {
      authors: { columns: ['born:int', 'name:text', 'nick:text'] },
      posts: {
        columns: ['title:text', 'author:ref:authors:nullable', 'stars:int:0'],
        indexes: [{ search: { title: 'A' } }],
        changes: true,
      },
      comments: {
        columns: ['post:ref:posts(on_delete=cascade)', 'writer:ref:authors:nullable', 'likes:int:0'],
      },
    };
    await done(owner.call('POST', `${app.base}/schema`, { tables }));
    const insert = async (table: string, row: object): Promise<string> =>
      (await done(owner.call('POST', `${place.data}/${table}`, row))).id;
    for (const [name, nick] of [
      ['Cem', 'cc'],
      ['Ada', 'aa'],
      ['Bob', 'bb'],
    ])
      ids[name!] = await insert('authors', { born: 1815, name, nick });
    for (const [title, author] of [
      ['Ants', 'Bob'],
      ['Bees', 'Cem'],
      ['Cats', 'Ada'],
      ['Dogs', null],
    ])
      ids[title!] = await insert('posts', { title, author: author && ids[author] });
    for (let likes = 1; likes <= 7; likes++)
      await insert('comments', { post: ids.Ants, writer: ids.Cem, likes });
    const connector = { name: 'warehouse', kind: 'tables', app: app.slug };
    await done(owner.call('POST', `${tenant.base}/connectors`, connector));
    browser = await browserOf(server, owner);
  });
  afterAll(() => browser?.close());

  async function open(path: string): Promise<Page> {
    const page = await browser.newPage();
    page.setDefaultTimeout(20_000);
    await page.goto(place.console + path);
    await waitUntilLoaded(page);
    return page;
  }
  const grid = (page: Page) => page.getByRole('grid');
  const details = (page: Page, name: string) => page.getByRole('dialog', { name });
  /** The texts of a column, from the first row to the last. */
  async function textsOf(page: Page, column: string): Promise<string[]> {
    const heads = await grid(page).locator('thead th').allTextContents();
    const at = heads.findIndex((text) => text.startsWith(`${column} `));
    return grid(page)
      .locator(`tbody tr td:nth-child(${at + 1})`)
      .allTextContents();
  }
  const expectTexts = async (page: Page, column: string, expected: string[]) => {
    let shown: string[] = [];
    await until(`the column ${column}`, async () => {
      shown = await textsOf(page, column);
      return Bun.deepEquals(shown, expected);
    }).catch(() => {});
    expect(shown).toEqual(expected);
  };

  test('the grid shows names of related rows and opens them', async () => {
    const page = await browser.newPage();
    const complaints = complaintsOf(page);
    const asked: string[] = [];
    page.on('request', (request) => asked.push(decodeURIComponent(request.url())));
    await page.goto(`${place.console}/tables/posts?sort=title`);
    await waitUntilLoaded(page);
    await expectTexts(page, 'author', ['Bob', 'Cem', 'Ada', 'null']);
    expect(asked.filter((url) => url.includes('/posts?') && url.includes(':author(name)'))).toHaveLength(1);
    expect(asked.filter((url) => url.includes(`${place.data}/authors?`))).toEqual([]);
    expect(await violationsOf(page)).toEqual([]);

    await grid(page).getByRole('link', { name: 'Ada' }).click();
    await details(page, 'authors: Ada').getByText('1815').waitFor();
    expect(new URL(page.url()).pathname).toEndWith('/tables/authors');
    await details(page, 'authors: Ada').getByRole('link', { name: 'Cats' }).waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await details(page, 'authors: Ada').waitFor({ state: 'hidden' });
    await expectTexts(page, 'name', ['Ada']);
    await page.goBack();
    await expectTexts(page, 'author', ['Bob', 'Cem', 'Ada', 'null']);

    // Found by a search, which the server does not combine with related rows.
    await page.getByRole('searchbox').fill('ants');
    await page.keyboard.press('Enter');
    await expectTexts(page, 'author', ['Bob']);
    expect(complaints).toEqual([]);
    await page.close();
  });

  test('the details of a row list the rows that refer to it', async () => {
    const page = await open('/tables/posts?sort=title');
    const complaints = complaintsOf(page);
    await grid(page).locator('tbody tr').first().locator('td').nth(1).focus();
    await page.keyboard.press('Enter');
    const row = details(page, 'posts: Ants');
    const comments = row.getByRole('table', { name: 'comments' });
    await comments.locator('tbody tr').first().waitFor();
    expect(await comments.locator('tbody tr').count()).toBe(5);
    expect(await comments.locator('tbody tr').first().getByRole('link').last().textContent()).toBe('Cem');
    expect(await row.getByRole('link', { name: 'Bob' }).count()).toBe(1);
    expect(page.url()).toContain(`row=${ids.Ants}`);
    expect(await violationsOf(page)).toEqual([]);
    await row.getByRole('link', { name: 'Show all 7 in the grid of comments' }).click();
    await expectTexts(page, 'likes', ['1', '2', '3', '4', '5', '6', '7']);
    expect(new URL(page.url()).searchParams.get('filter')).toBe(`post=eq.${ids.Ants}`);
    await expectTexts(page, 'writer', Array(7).fill('Cem'));

    await page.goto(`${place.console}/tables/authors?row=${ids.Bob}`);
    await details(page, 'authors: Bob').getByRole('table', { name: 'posts' }).getByText('Ants').waitFor();
    await details(page, 'authors: Bob').getByText('No row refers to this one.').waitFor();
    await page.goto(`${place.console}/tables/authors?row=${Bun.randomUUIDv7()}`);
    await page.getByText('This row was deleted, or you cannot see it.').waitFor();
    expect(complaints).toEqual([]);
    await page.close();
  });

  test('rows are filtered and sorted by columns of related rows', async () => {
    const page = await open('/tables/posts');
    const complaints = complaintsOf(page);
    await page.getByRole('button', { name: /^author/ }).click();
    await expectTexts(page, 'author', ['Ada', 'Bob', 'Cem', 'null']);
    expect(new URL(page.url()).searchParams.get('sort')).toBe('author.name');
    const head = page.getByRole('columnheader', { name: /^author/ });
    expect(await head.getAttribute('aria-sort')).toBe('ascending');
    await page.getByRole('button', { name: 'Filter' }).click();
    const line = page.getByRole('group', { name: 'Condition 1' });
    await line.getByLabel('Column').selectOption('author.name');
    await line.getByLabel('Operator').selectOption('in');
    await line.getByLabel('Value').fill('(Bob,Cem)');
    await page.getByRole('button', { name: 'Apply filter' }).click();
    await expectTexts(page, 'title', ['Ants', 'Bees']);
    expect(new URL(page.url()).searchParams.get('filter')).toBe('author.name=in.(Bob,Cem)');
    await page.getByText('author.name is one of (Bob,Cem)').waitFor();
    for (const name of ['Change matching', 'Export'])
      expect(await reasonOf(page.getByRole('button', { name }))).toContain(
        'Remove the filter on author.name',
      );
    expect(await violationsOf(page)).toEqual([]);

    // A feed has the rows of one table: the page is read again for more of them than it shows.
    const feed = page.waitForResponse((response) => response.url().includes('/_changes'));
    await page.getByRole('switch', { name: 'Live' }).check();
    expect((await feed).status()).toBe(200);
    const dogs = `${place.data}/posts/${ids.Dogs}`;
    await done(owner.call('PATCH', dogs, { author: ids.Cem }));
    await expectTexts(page, 'title', ['Ants', 'Bees', 'Dogs']);
    await done(owner.call('PATCH', dogs, { author: null }));
    await expectTexts(page, 'title', ['Ants', 'Bees']);

    await page.getByLabel('Group by').selectOption('title');
    await page.getByText('Remove the filter on author.name first.', { exact: false }).last().waitFor();
    await page.getByRole('button', { name: 'Remove filter: author.name is one of (Bob,Cem)' }).click();
    await page
      .getByRole('table', { name: 'Groups of posts' })
      .getByRole('row', { name: /^Dogs 1/ })
      .waitFor();
    expect(complaints).toEqual([]);
    await page.close();
  });

  test('what the reader may not see of related rows leaves the id', async () => {
    const deny = async (table: string, names: string[], path: string) => {
      const policy = {
        name: `No ${names} of ${table}`,
        connector_id: 'warehouse',
        resource_path: `${place.app}/${table}`,
        enforced: true,
        columns: { mode: 'deny', names },
      };
      await done(owner.call('POST', place.policies, policy));
      const url = `${place.data}/${path}`;
      await until('the policy holds', async () => (await owner.call('GET', url)).status === 400);
    };
    const url = '/tables/posts?filter=author.name%3Deq.Ada&sort=-author.name,title';
    await deny('authors', ['name'], 'posts?select=author(name)');
    const page = await open(url);
    const complaints = complaintsOf(page);
    await expectTexts(page, 'author', ['bb', 'cc', 'aa', 'null']);
    await deny('authors', ['nick'], 'posts?select=author(nick)');
    await page.goto(place.console + url);
    await expectTexts(page, 'author', [ids.Bob!, ids.Cem!, ids.Ada!, 'null']);
    await deny('authors', ['id'], 'posts?select=author(id)');
    await deny('comments', ['post'], 'comments?post=is.null');
    await page.goto(`${place.console}${url}&row=${ids.Ants}`);
    await details(page, 'posts: Ants').getByRole('link', { name: ids.Bob! }).waitFor();
    await waitUntilLoaded(page);
    expect(await details(page, 'posts: Ants').getByRole('table', { name: 'comments' }).count()).toBe(0);
    expect(await page.getByRole('alert').count()).toBe(0);
    expect(complaints).toEqual([]);
    await page.close();
  });
});
