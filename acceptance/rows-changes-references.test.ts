import { describe, expect, test } from 'bun:test';
import { useFixture } from '../scripts/use-fixture.ts';
import { foldEvents, openFeed } from './support/change-feed.ts';
import { isOnCitus } from './support/citus.ts';
import { bearer, done, newMember } from './support/people.ts';
import { grant, rowsWorld, type TestTable } from './support/rows.ts';

const world = useFixture(rowsWorld);

const kept = { changes: true, history: '30d', soft_delete: '30d' };

const follow = (table: TestTable) =>
  openFeed(`${world.server.baseUrl}${table.path}/_changes?snapshot=true`, bearer(world.owner));

const historyOf = async (table: TestTable, id: string) =>
  (await done(table.send('GET', `/${id}/_history`))).data;

describe.skipIf(isOnCitus)('what references do to rows of another table', () => {
  test('cascades of a deleted row are in the feed, the history and the trash, with person and request', async () => {
    const orders = await world.table(['title:text']);
    const lines = await world.table([`order:ref:${orders.name}(on_delete=cascade)`, 'n:int'], kept);
    const notes = await world.table([`line:ref:${lines.name}(on_delete=cascade)`], kept);
    const [one, two] = await orders.insert({ title: 'one' }, { title: 'two' });
    const rows = await lines.insert(
      { order: one.id, n: 1 },
      { order: one.id, n: 2 },
      { order: two.id, n: 3 },
    );
    const [note] = await notes.insert({ line: rows[0].id });
    const [feed, noteFeed] = [await follow(lines), await follow(notes)];
    for (const each of [feed, noteFeed]) await each.has('ready');
    const deleted = await orders.send('DELETE', '?title=in.(one,two)');
    expect(deleted.status).toBe(200);
    const events = await feed.has('delete', 3);
    expect(events.map(({ data }) => data.id).sort()).toEqual(rows.map(({ id }) => id).sort());
    expect((await noteFeed.has('delete'))[0]!.data).toEqual({ id: note.id });
    const [last] = await historyOf(lines, rows[1].id);
    expect(last).toMatchObject({
      action: 'delete',
      by: world.owner.id,
      request_id: deleted.headers.get('x-request-id'),
      before: { n: 2 },
    });
    expect((await done(lines.send('GET', '/_trash'))).data.length).toBe(3);
    for (const each of [feed, noteFeed]) each.cut();
  });

  test('a reference that becomes null is an update, also where a row has two of them', async () => {
    const people = await world.table(['name:text'], kept);
    const tasks = await world.table(
      [
        'title:text',
        `author:ref:${people.name}:nullable(on_delete=set_null)`,
        `reader:ref:${people.name}:nullable(on_delete=set_null)`,
      ],
      kept,
    );
    const [ada, bob] = await people.insert({ name: 'Ada' }, { name: 'Bob' });
    const rows = await tasks.insert(
      { title: 'a', author: ada.id, reader: ada.id },
      { title: 'b', author: ada.id, reader: bob.id },
      { title: 'c', author: bob.id, reader: ada.id },
    );
    const feed = await follow(tasks);
    await feed.has('ready');
    await done(people.send('DELETE', '?name=in.(Ada,Bob)'));
    await tasks.insert({ title: 'end' });
    await feed.has('insert');
    const folded = foldEvents(feed.events);
    expect(folded.wrong).toEqual([]);
    const listed = await tasks.list('?sort=title');
    expect(listed.map(({ author, reader }) => [author, reader])).toEqual(Array(4).fill([null, null]));
    expect(listed.map(({ id }) => folded.rows.get(id))).toEqual(listed);
    for (const { id } of rows) {
      const entries = await historyOf(tasks, id);
      expect(entries[0]).toMatchObject({ action: 'update', row: { author: null, reader: null } });
      // Each state follows from the one before it.
      for (const [at, entry] of entries.slice(0, -1).entries())
        expect(entry.before).toEqual(entries[at + 1].row);
    }
    feed.cut();
  });

  test('a tree of one table is deleted as a whole', async () => {
    const tree = await world.table(['name:text'], kept);
    await done(
      tree.shape('POST', '/columns', {
        name: 'up',
        type: `ref:${tree.name}`,
        nullable: true,
        on_delete: 'cascade',
      }),
    );
    const [root] = await tree.insert({ name: 'root' });
    const [left] = await tree.insert({ name: 'left', up: root.id }, { name: 'right', up: root.id });
    await tree.insert({ name: 'leaf', up: left.id });
    const feed = await follow(tree);
    await feed.has('ready');
    const deleted = await tree.send('DELETE', `/${root.id}`);
    await feed.has('delete', 4);
    const { rows, wrong } = foldEvents(feed.events);
    expect([rows.size, wrong]).toEqual([0, []]);
    const requestId = deleted.headers.get('x-request-id');
    const restored = await tree.send('POST', '/_restore', { request_id: requestId });
    expect(restored.body).toMatchObject({ restored: 4 });
    await feed.has('insert', 4);
    feed.cut();
  });
});

describe.skipIf(isOnCitus)('a request id that somebody chose', () => {
  test('undoes the changes of one person only', async () => {
    const table = await world.table(['title:text'], kept);
    const person = await newMember(world.tenant);
    await grant(table, 'user', person.id, ['read', 'write']);
    const send = world.as(bearer(person), table);
    const [mine, other] = await table.insert({ title: 'mine' }, { title: 'other' });
    const chosen = { 'x-request-id': 'chosen' };
    await done(table.send('PATCH', `/${mine.id}`, { title: 'changed' }, chosen));
    await done(send('PATCH', `/${other.id}`, { title: 'changed' }, chosen));
    const titles = async () => (await table.list('?sort=id')).map(({ title }) => title).join();
    const unclear = await table.send('POST', '/_restore', { request_id: 'chosen' });
    expect([unclear.status, unclear.body.code]).toEqual([409, 'restore_conflict']);
    expect(unclear.body.detail).toContain('`by`');
    // Only owners undo what others did.
    const body = { request_id: 'chosen', by: world.owner.id };
    expect((await done(send('POST', '/_restore', body))).ids).toEqual([other.id]);
    expect(await titles()).toBe('changed,other');
    expect((await done(table.send('POST', '/_restore', body))).ids).toEqual([mine.id]);
    expect(await titles()).toBe('mine,other');
    expect((await send('POST', '/_restore', { request_id: 'chosen', by: 7 })).status).toBe(400);
  });
});
