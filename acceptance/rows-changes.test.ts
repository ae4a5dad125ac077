import { describe, expect, test } from 'bun:test';
import { useFixture } from '../scripts/use-fixture.ts';
import { type FeedEvent, openFeed } from './support/change-feed.ts';
import { isOnCitus } from './support/citus.ts';
import { bearer, done, newMember } from './support/people.ts';
import { grant, rowsWorld, type TestTable } from './support/rows.ts';
import { until } from './support/until.ts';

const world = useFixture(rowsWorld);

const followed = (columns: readonly unknown[], more = {}) => world.table(columns, { changes: true, ...more });

const follow = (table: TestTable, search = '', headers: Record<string, string> = {}) =>
  openFeed(`${world.server.baseUrl}${table.path}/_changes${search}`, { ...bearer(world.owner), ...headers });

const brief = (events: readonly FeedEvent[]) =>
  events.map(({ event, data }) => [event, ...(data.title === undefined ? [] : [data.title])].join(' '));

describe.skipIf(isOnCitus)('a change feed', () => {
  test('has the rows, then ready, then every change with an id', async () => {
    const table = await followed(['title:text', 'qty:int:0', 'tags:text[]:[]', 'price:decimal(9,2):0']);
    const [tea] = await table.insert({ title: 'Tea', tags: ['a b', '"'], price: '1.50' });
    const feed = await follow(table, '?snapshot=true');
    expect(feed.status).toBe(200);
    await feed.has('ready');
    expect(feed.events[0]).toMatchObject({ event: 'row', data: tea });
    const [cocoa] = await table.insert({ title: 'Cocoa' });
    const changed = await done(table.send('PATCH', `/${tea.id}`, { qty: 3 }));
    await table.batch([{ title: 'Milk' }, { title: 'Honey' }]);
    await done(table.send('DELETE', `/${tea.id}`));
    await feed.has('delete');
    expect(brief(feed.events)).toEqual([
      'row Tea',
      'ready',
      'insert Cocoa',
      'update Tea',
      'insert Milk',
      'insert Honey',
      'delete',
    ]);
    expect(feed.events[2]).toMatchObject({ data: cocoa });
    expect(feed.events[3]?.data).toEqual(changed);
    expect(feed.events[6]?.data).toEqual({ id: tea.id });
    expect(new Set(feed.events.slice(1).map(({ id }) => id)).size).toBe(6);
    feed.cut();
  });

  test('sees batches over tables, changes by filter and upserts, and no change that was rolled back', async () => {
    const table = await followed(['title:text', 'qty:int:0']);
    const feed = await follow(table);
    await feed.has('ready');
    await done(table.send('POST', '?dry_run=true', { title: 'Preview' }));
    const operations = [
      { op: 'insert', table: table.name, values: { title: 'A' } },
      { op: 'insert', table: table.name, values: { title: 'B' } },
    ];
    await done(world.owner.call('POST', `${world.data}/_batch`, { operations }));
    await done(table.send('PATCH', '?title=eq.A', { qty: 5 }));
    const [{ id }] = await table.list('?title=eq.B');
    await done(table.send('POST', '', { id, title: 'C' }, { prefer: 'resolution=merge-duplicates' }));
    await done(table.send('PATCH', `/${id}`, {}));
    await done(table.send('DELETE', '?title=in.(A,C)'));
    await feed.has('delete', 2);
    expect(brief(feed.events)).toEqual([
      'ready',
      'insert A',
      'insert B',
      'update A',
      'update C',
      'delete',
      'delete',
    ]);
    feed.cut();
  });

  test('a row that begins or ceases to match is an insert or a delete, and select limits what is shown', async () => {
    const table = await followed(['title:text', 'qty:int:0']);
    const [row] = await table.insert({ title: 'Tea', qty: 1 });
    const feed = await follow(table, '?qty=gt.5&select=title&snapshot=true');
    await feed.has('ready');
    await done(table.send('PATCH', `/${row.id}`, { qty: 6 }));
    // Nothing of what is selected changes.
    await done(table.send('PATCH', `/${row.id}`, { qty: 7 }));
    await done(table.send('PATCH', `/${row.id}`, { title: 'Cup' }));
    await done(table.send('PATCH', `/${row.id}`, { qty: 2 }));
    await feed.has('delete');
    expect(feed.events.map(({ event, data }) => [event, data])).toEqual([
      ['ready', { types: { id: 'uuid', title: 'text' } }],
      ['insert', { id: row.id, title: 'Tea' }],
      ['update', { id: row.id, title: 'Cup' }],
      ['delete', { id: row.id }],
    ]);
    feed.cut();
  });

  test('resumes after the last event, also in the middle of a batch, and resets where it cannot', async () => {
    const table = await followed(['title:text']);
    const feed = await follow(table);
    await feed.has('ready');
    await table.batch(Array.from({ length: 1_200 }, (_, n) => ({ title: `r${n}` })));
    const inserted = await feed.has('insert', 1_200);
    feed.cut();
    const [middle, last] = [inserted[699]!, inserted.at(-1)!];
    await table.insert({ title: 'later' });
    const after = await follow(table, '', { 'last-event-id': middle.id! });
    await after.has('ready');
    expect(brief(after.events)).toEqual([...brief(inserted.slice(700)), 'insert later', 'ready']);
    const end = await follow(table, '?snapshot=true', { 'last-event-id': last.id! });
    await end.has('ready');
    // The binding of the position has no snapshot in it: both ask for the same rows.
    expect(brief(end.events)).toEqual(['insert later', 'ready']);
    const others = ['?title=sw.r1&snapshot=true', '?select=title'];
    for (const search of others) {
      const other = await follow(table, search, { 'last-event-id': last.id! });
      await other.has('ready');
      expect(other.events[0]?.event).toBe('reset');
      other.cut();
    }
    const unknown = await follow(table, '?snapshot=true', { 'last-event-id': 'nonsense' });
    await unknown.has('ready');
    expect(brief(unknown.events.slice(0, 1))).toEqual(['reset']);
    expect(unknown.events.length).toBe(1_203);
    for (const each of [after, end, unknown]) each.cut();
  });

  test('a table without one answers what to do; a column named snapshot keeps its meaning', async () => {
    const table = await world.table(['snapshot:text']);
    const off = await table.send('GET', '/_changes');
    expect([off.status, off.body.code]).toEqual([409, 'changes_off']);
    expect(off.body.detail).toContain(
      `svc tables update ${table.name} --app ${world.app.slug} --changes true`,
    );
    const on = await done(table.shape('PATCH', '', { changes: true }));
    expect(on.changes).toBe(true);
    await table.insert({ snapshot: 'true' }, { snapshot: 'false' });
    const feed = await follow(table, '?snapshot=true&_snapshot=true');
    await feed.has('ready');
    expect(feed.events.map(({ event, data }) => [event, data.snapshot])).toEqual([
      ['row', 'true'],
      ['ready', undefined],
    ]);
    expect((await table.send('GET', '/_changes?_snapshot=maybe')).status).toBe(400);
    expect((await table.send('GET', '/_changes?nope=1')).body.code).toBe('unknown_column');
    expect((await table.send('HEAD', '/_changes')).headers.get('content-type')).toBe('text/event-stream');
    await done(table.shape('PATCH', '', { changes: false }));
    await until('the feed ends', async () => feed.isOver(), 1_000);
    expect((await table.send('GET', '/_changes')).status).toBe(409);
  });

  test('goes on after a column was added, renamed, changed in type or dropped, as a new feed', async () => {
    const table = await followed(['title:text', 'qty:int:1']);
    const [row] = await table.insert({ title: 'Tea' });
    const feed = await follow(table, '?snapshot=true');
    await feed.has('ready');
    await done(table.shape('POST', '/columns', { name: 'note', type: 'text', nullable: true }));
    await until('the feed ends', async () => feed.isOver(), 1_000);
    await done(table.shape('PATCH', '/columns/qty', { type: 'bigint' }));
    await done(table.shape('PATCH', '/columns/title', { name: 'name' }));
    await done(table.send('PATCH', `/${row.id}`, { note: 'hot', qty: 2 }));
    const next = await follow(table, '?snapshot=true', { 'last-event-id': feed.lastEventId()! });
    await next.has('ready');
    expect(next.events.map(({ event }) => event)).toEqual(['reset', 'row', 'ready']);
    await done(table.send('PATCH', `/${row.id}`, { name: 'Cup' }));
    const [update] = await next.has('update');
    expect(update?.data).toMatchObject({ name: 'Cup', note: 'hot', qty: 2 });
    next.cut();
  });
});

describe.skipIf(isOnCitus)('what a subscriber sees', () => {
  test('is what they may read: rows of others, hidden columns and deletes of them do not appear', async () => {
    const table = await followed(['person:uuid', 'title:text', 'salary:int:0'], { owner_column: 'person' });
    await done(
      table.shape('PUT', '/access', {
        read: ['own', 'title=eq.public'],
        write: ['any'],
        columns: { salary: { read: ['role:hr'] } },
      }),
    );
    const [ada, bob] = [await world.visitor(), await world.visitor()];
    const credential = bearer({ token: ada.through });
    const feed = await follow(table, '?snapshot=true', credential);
    await feed.has('ready');
    const own = world.as(credential, table);
    const hidden = await done(table.send('POST', '', { person: bob.id, title: 'secret', salary: 1 }));
    const mine = await done(table.send('POST', '', { person: ada.id, title: 'mine', salary: 2 }));
    await done(table.send('PATCH', `/${mine.id}`, { salary: 3 }));
    await done(table.send('PATCH', `/${hidden.id}`, { title: 'public' }));
    await done(table.send('PATCH', `/${hidden.id}`, { title: 'secret' }));
    await done(table.send('DELETE', `/${hidden.id}`));
    await done(table.send('DELETE', `/${mine.id}`));
    await feed.has('delete', 2);
    const seen = feed.events.map(({ event, data }) => [event, data.title, 'salary' in data, data.id]);
    // updated_at is visible, so a change of the salary shows there.
    expect(seen).toEqual([
      ['ready', undefined, false, undefined],
      ['insert', 'mine', false, mine.id],
      ['update', 'mine', false, mine.id],
      ['insert', 'public', false, hidden.id],
      ['delete', undefined, false, hidden.id],
      ['delete', undefined, false, mine.id],
    ]);
    expect((await own('GET', '/_changes?salary=gt.1')).body.code).toBe('unknown_column');
    feed.cut();
  });

  test('ends within a second when rights are taken away or the rules change', async () => {
    const { tenant } = world;
    const table = await followed(['title:text']);
    const person = await newMember(tenant);
    const id = await grant(table, 'user', person.id, ['read']);
    const granted = await follow(table, '', bearer(person));
    const pat = await done(
      world.owner.call('POST', `${tenant.base}/pats`, { name: 'feed', actions: ['read'] }),
    );
    const token = await openFeed(`${world.server.baseUrl}${table.path}/_changes`, {
      'x-api-key': pat.secret,
    });
    const owner = await follow(table);
    for (const feed of [granted, token, owner]) await feed.has('ready');
    await done(table.shape('DELETE', `/grants/${id}`));
    await until('the feed of the grant ends', async () => granted.isOver(), 1_000);
    await done(world.owner.call('DELETE', `${tenant.base}/pats/${pat.id}`));
    await until('the feed of the token ends', async () => token.isOver(), 1_000);
    expect(owner.isOver()).toBe(false);
    await table.insert({ title: 'after' });
    await owner.has('insert');
    expect([granted.events.length, token.events.length]).toEqual([1, 1]);
    expect((await follow(table, '', bearer(person))).status).toBe(404);
    owner.cut();
  });
});
