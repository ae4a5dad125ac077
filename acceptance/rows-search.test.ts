import { beforeAll, describe, expect, test } from 'bun:test';
import { done } from './support/people.ts';
import { type RowsWorld, rowsWorld, type TestTable } from './support/rows.ts';

let world: RowsWorld;
let notes: TestTable;
const q = encodeURIComponent;

beforeAll(async () => {
  world = await rowsWorld();
  notes = await world.table(['title:text', 'body:text:nullable', 'shelf:int']);
  const index = { search: { title: 'A', body: 'B' }, language: 'german' };
  expect(await done(notes.shape('POST', '/indexes', index))).toMatchObject({
    name: 'title_body_search',
    columns: ['title', 'body'],
    unique: false,
    ...index,
  });
  await notes.batch([
    { title: 'Teekanne', body: 'Eine grüne Kanne für Tee', shelf: 1 },
    { title: 'Häuser am Meer', body: 'Das Haus <b>hat</b> eine "rote" Tür & ein Dach', shelf: 1 },
    { title: 'Kannen', body: 'Rote Kannen aus Ton', shelf: 2 },
    { title: 'Leer', body: null, shelf: 3 },
  ]);
});

const titles = async (search: string, more = '', table = notes) =>
  (await table.list(`?search=${q(search)}${more}`)).map(({ title }) => title);

describe('search', () => {
  test.each([
    ['kanne', ['Kannen', 'Teekanne']],
    ['haus', ['Häuser am Meer']],
    ['grüne tee', ['Teekanne']],
    ['"kanne für tee"', ['Teekanne']],
    ['"tee kanne"', []],
    ['kannen -grün', ['Kannen']],
    ['-kanne', ['Häuser am Meer', 'Leer']],
    ['-"rote kannen" kanne', ['Teekanne']],
    ['meer or ton', ['Häuser am Meer', 'Kannen']],
    ['meer kanne or ton', ['Kannen']],
    ['nirgends', []],
    ['die der', []],
    ['die meer', ['Häuser am Meer']],
    ["meer' & | ! <-> :*", ['Häuser am Meer']],
    ['"meer', ['Häuser am Meer']],
    ['', []],
  ])('%s finds %p', async (search, found) => {
    expect((await titles(search)).sort()).toEqual(found);
    const counted = await done(notes.send('GET', `/_count?search=${q(search)}`));
    expect(counted.count).toBe(found.length);
  });

  test('the best matches come first, each with an escaped snippet that marks the words', async () => {
    expect(await titles('kanne')).toEqual(['Kannen', 'Teekanne']);
    const [row] = await notes.list(`?search=${q('haus tür')}&select=shelf`);
    expect(row).toEqual({
      shelf: 1,
      _snippet: expect.stringContaining('<mark>Häuser</mark> am Meer'),
    });
    expect(row._snippet).toContain('&quot;rote&quot; <mark>Tür</mark> &amp; ein Dach');
    expect(row._snippet.replaceAll(/<\/?mark>/g, '')).not.toMatch(/[<>"]/);
  });

  test('has filters, sorts, groups, pages, cursors, CSV and exports', async () => {
    expect(await titles('kanne', '&shelf=1')).toEqual(['Teekanne']);
    expect(await titles('kanne or haus', '&sort=-title')).toEqual(['Teekanne', 'Kannen', 'Häuser am Meer']);
    expect(await titles('kanne or haus', '&distinct=shelf&sort=title')).toEqual(['Häuser am Meer', 'Kannen']);
    expect(await notes.list('/_aggregate?select=shelf,n:count()&search=kanne%20or%20haus')).toEqual([
      { shelf: 1, n: 2 },
      { shelf: 2, n: 1 },
    ]);
    for (const more of ['', '&sort=title']) {
      const all = await titles('kanne or haus', more);
      const walked: string[] = [];
      for (let cursor = ''; ; ) {
        const page = await done(notes.send('GET', `?search=kanne%20or%20haus${more}&per_page=1${cursor}`));
        walked.push(...page.data.map(({ title }: { title: string }) => title));
        if (page.next_cursor === null) break;
        cursor = `&cursor=${page.next_cursor}`;
      }
      expect(walked).toEqual(all);
      expect(await titles('kanne or haus', `${more}&per_page=2&page=2`)).toEqual(all.slice(2));
    }
    const csv = { accept: 'text/csv' };
    const page = await notes.send('GET', '?search=meer&select=title&per_page=5', undefined, csv);
    expect(page.body).toStartWith('title,_snippet\r\n');
    const lines = { accept: 'application/x-ndjson' };
    const exported = await notes.send('GET', '?search=meer&select=title', undefined, lines);
    expect(exported.body).toBe('{"title":"Häuser am Meer"}\n');
  });

  test('refuses what cannot be searched, and says what is left out', async () => {
    const bare = await world.table(['title:text']);
    for (const [table, search] of [
      [bare, 'x'],
      [notes, 'x'.repeat(501)],
      [notes, 'x '.repeat(21)],
    ] as const) {
      const { status, body } = await table.send('GET', `?search=${q(search)}`);
      expect([status, body.errors[0].field]).toEqual([400, 'search']);
    }
    const common = await notes.send('GET', '?search=die');
    expect([common.status, common.body.data, common.headers.get('svc-note')]).toEqual([
      200,
      [],
      expect.stringContaining('search'),
    ]);
  });

  test('a column of this name keeps its meaning; with an underscore it is the parameter', async () => {
    const table = await world.table(['search:text', 'title:text']);
    await done(table.shape('POST', '/indexes', { search: { title: 'A' } }));
    await table.insert({ search: 'x', title: 'tea' }, { search: 'y', title: 'pot' });
    expect(await titles('x', '', table)).toEqual(['tea']);
    expect((await table.list('?_search=pot')).map(({ title }) => title)).toEqual(['pot']);
    expect(await table.list('/_aggregate?select=n:count()&_search=pot&search=x')).toEqual([{ n: 0 }]);
  });
});

test('columns that are hidden or masked for the caller are neither searched nor in snippets', async () => {
  const { owner } = world;
  const ada = await world.visitor();
  const table = await world.table(['by:uuid', 'title:text', 'memo:text', 'salary:text'], {
    owner_column: 'by',
  });
  const search = { title: 'A', memo: 'B', salary: 'C' };
  await done(table.shape('POST', '/indexes', { search }));
  const rules = {
    read: ['any'],
    columns: { salary: { read: ['role:hr'] }, memo: { read: ['own'] } },
  };
  await done(table.shape('PUT', '/access', rules));
  await table.batch([
    { by: ada.id, title: 'first', memo: 'apple', salary: 'pear' },
    { by: owner.id, title: 'second', memo: 'apple', salary: 'pear' },
  ]);
  const send = ada.of(table);
  const found = async (text: string) => {
    const { data } = await done(send('GET', `?search=${q(text)}&select=title`));
    return data.map(({ title }: { title: string }) => title).sort();
  };
  expect(await titles('apple pear', '', table)).toHaveLength(2);
  expect(await found('pear')).toEqual([]);
  expect(await found('-pear')).toEqual(['first', 'second']);
  // The memo is visible in one's own rows.
  expect(await found('apple')).toEqual(['first']);
  expect(await found('-apple')).toEqual(['second']);
  const { data } = await done(send('GET', '?search=first or second'));
  expect(JSON.stringify(data)).not.toContain('pear');
  expect(data.map(({ _snippet }: { _snippet: string }) => _snippet).sort()).toEqual([
    '<mark>first</mark> … apple',
    '<mark>second</mark>',
  ]);
  await done(
    table.shape('PUT', '/access', {
      columns: Object.fromEntries(Object.keys(search).map((name) => [name, { read: ['role:hr'] }])),
    }),
  );
  const hidden = await send('GET', '?search=first&select=id');
  const bare = await world.table(['title:text']);
  const none = await bare.send('GET', '?search=first&select=id');
  const sayingName = none.body.detail.replace(bare.name, table.name);
  expect([hidden.status, hidden.body.detail]).toEqual([400, sayingName]);
});

describe('a search index', () => {
  test('goes along with renames and other changes of its table, and goes with its columns', async () => {
    const table = await world.table(['title:text', 'body:text', 'n:int']);
    await table.insert({ title: 'tea pot', body: 'green', n: 1 });
    await done(table.shape('POST', '/indexes', { search: { title: 'A', body: 'D' } }));
    await done(table.shape('PATCH', '/columns/title', { name: 'head' }));
    await done(table.shape('PATCH', '/columns/n', { type: 'text' }));
    await done(table.shape('PATCH', '/columns/body', { type: 'enum(green,red)' }));
    await table.insert({ head: 'coffee', body: 'red', n: '2' });
    expect((await table.list('?search=red')).map(({ head }) => head)).toEqual(['coffee']);
    const { items } = await done(table.shape('GET', '/indexes'));
    expect(items).toMatchObject([{ search: { head: 'A', body: 'D' }, language: 'simple' }]);
    const second = await table.shape('POST', '/indexes', { search: { body: 'A' } });
    expect([second.status, second.body.code]).toEqual([409, 'unique_violation']);
    await done(table.shape('DELETE', '/columns/body'));
    expect((await done(table.shape('GET', '/indexes'))).items).toEqual([]);
    expect((await table.send('GET', '?search=tea')).status).toBe(400);
    await done(table.shape('POST', '/indexes', { search: { head: 'B' }, name: 'words' }));
    expect((await table.list('?search=tea')).map(({ head }) => head)).toEqual(['tea pot']);
    await done(table.shape('DELETE', '/indexes/words'));
    expect((await table.send('GET', '?search=tea')).status).toBe(400);
    await done(table.shape('DELETE', '/columns/head'));
  });

  test.each([
    [{ search: {} }, 'search'],
    [{ search: { n: 'A' } }, 'search'],
    [{ search: { nothing: 'A' } }, 'search.nothing'],
    [{ search: { title: 'E' } }, 'search.title'],
    [{ search: { title: 'A' }, language: 'klingon' }, 'language'],
    [{ search: { title: 'A' }, columns: ['n'] }, 'columns'],
    [{ search: { title: 'A' }, unique: true }, 'unique'],
    [{ columns: ['n'], language: 'german' }, 'language'],
    [{}, 'columns'],
  ])('is refused as %p because of %s', async (body, field) => {
    const table = await world.table(['title:text', 'n:int']);
    const answer = await table.shape('POST', '/indexes', body);
    expect([answer.status, answer.body.errors[0].field]).toEqual([400, field]);
  });

  test('takes texts of every length', async () => {
    const table = await world.table(['body:text']);
    await done(table.shape('POST', '/indexes', { search: { body: 'A' } }));
    const words = Array.from({ length: 90_000 }, (_, at) => `w${at.toString(36)}-é${at}`).join(' ');
    await table.insert({ body: words.slice(0, 900_000) }, { body: 'x'.repeat(500_000) });
    expect(await table.list('?search=w1&select=id')).toHaveLength(1);
  });
});
