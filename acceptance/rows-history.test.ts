import { describe, expect, test } from 'bun:test';
import { useFixture } from '../scripts/use-fixture.ts';
import { isOnCitus } from './support/citus.ts';
import { svcFor } from './support/commands.ts';
import { queryDatabase } from './support/database.ts';
import { done } from './support/people.ts';
import { rowsWorld, type TestTable } from './support/rows.ts';

const world = useFixture(rowsWorld);

const newTable = (columns: readonly unknown[] = ['title:text', 'qty:int:0'], more = {}) =>
  world.table(columns, { history: '30d', soft_delete: '30d', ...more });

const compact = (id: string) => id.replaceAll('-', '');
const entries = async (table: TestTable, path: string) => (await done(table.send('GET', path))).data;

describe.skipIf(isOnCitus)('the history of a row', () => {
  test('has every change with its time, person and request, newest first', async () => {
    const table = await newTable();
    const made = await table.send('POST', '', { title: 'Tea' });
    const { id } = made.body;
    const changed = await table.send('PATCH', `/${id}`, { qty: 2 });
    const deleted = await table.send('DELETE', `/${id}`);
    const found = await entries(table, `/${id}/_history`);
    const requests = [deleted, changed, made].map(({ headers }) => headers.get('x-request-id'));
    expect(found.map(({ request_id }: { request_id: string }) => request_id)).toEqual(requests);
    expect(found).toMatchObject([
      { action: 'delete', by: world.owner.id, before: { qty: 2 }, row: null },
      { action: 'update', before: { qty: 0 }, row: { qty: 2 } },
      { action: 'insert', before: null, row: made.body },
    ]);
    expect((await done(table.send('GET', `/${id}/_history?per_page=1&page=2`))).data[0].action).toBe(
      'update',
    );
    expect((await table.send('GET', `/${Bun.randomUUIDv7()}/_history`)).status).toBe(404);
  });

  test('shows nobody a row or column that they may not read, nor who else works with the rows', async () => {
    const { owner } = world;
    const ada = await world.visitor();
    const table = await newTable(['person:uuid', 'title:text', 'salary:int:0'], { owner_column: 'person' });
    const columns = { salary: { read: ['role:hr'] } };
    await done(table.shape('PUT', '/access', { read: ['own'], write: ['own'], columns }));
    const send = ada.of(table);
    const [mine] = await table.insert({ person: ada.id, title: 'mine', salary: 5 });
    const [other] = await table.insert({ person: owner.id, title: 'secret' });
    for (const { id } of [mine, other]) await done(table.send('DELETE', `/${id}`));
    const [deleted, inserted] = (await done(send('GET', `/${mine.id}/_history`))).data;
    expect([deleted.by, deleted.request_id, 'salary' in deleted.before, 'salary' in inserted.row]).toEqual([
      null,
      null,
      false,
      false,
    ]);
    // Consecutive numbers would tell how many changes there were in between.
    expect([deleted.version, inserted.version].some((version) => /^\d+$/.test(version))).toBe(false);
    expect((await send('GET', `/${other.id}/_history`)).status).toBe(404);
    expect((await send('POST', `/${other.id}/_restore`, {})).status).toBe(404);
    const trash = (await done(send('GET', '/_trash'))).data;
    expect(trash.map(({ before }: { before: { id: string } }) => before.id)).toEqual([mine.id]);
    await done(send('POST', `/${mine.id}/_restore`, {}));
    // What the person does not see comes back too.
    expect((await done(table.send('GET', `/${mine.id}`))).salary).toBe(5);
  });
});

describe.skipIf(isOnCitus)('the trash', () => {
  test('is known to the plan of a deletion, unless other rows go for good', async () => {
    const table = await newTable(['title:text']);
    const [row] = await table.insert({ title: 'Tea' });
    const plans = async () => [
      (await done(table.send('DELETE', `/${row.id}?dry_run=true`))).plan.irreversible,
      (await done(table.send('DELETE', '?title=Tea&dry_run=true'))).plan.irreversible,
    ];
    expect(await plans()).toEqual([false, false]);
    await world.table([`of:ref:${table.name}(on_delete=cascade)`]);
    expect(await plans()).toEqual([true, true]);
  });

  test('has deleted rows, which can be restored once, with id, owner and times', async () => {
    const table = await newTable(['title:text', 'tags:text[]:[]', 'no:autonumber']);
    const [row] = await table.insert({ title: 'Tea', tags: ['a b'] });
    await done(table.send('DELETE', `/${row.id}`));
    expect(await table.list()).toEqual([]);
    expect((await table.send('GET', `/${row.id}`)).status).toBe(404);
    expect((await entries(table, '/_trash')).length).toBe(1);
    const plan = await done(table.send('POST', `/${row.id}/_restore?dry_run=true`, {}));
    expect([plan.dry_run, (await table.list()).length]).toEqual([true, 0]);
    expect(await done(table.send('POST', `/${row.id}/_restore`, {}))).toEqual({ restored: 1, ids: [row.id] });
    expect(await table.list()).toEqual([row]);
    expect(await entries(table, '/_trash')).toEqual([]);
    expect((await table.send('POST', `/${row.id}/_restore`, {})).status).toBe(404);
  });

  test('has rows of tables with files too', async () => {
    const table = await newTable(['title:text', 'photo:file:nullable']);
    const [row] = await table.insert({ title: 'Tea' });
    const deleted = await table.send('DELETE', `/${row.id}`);
    const request_id = deleted.headers.get('x-request-id');
    expect((await done(table.send('POST', '/_restore?dry_run=true', { request_id }))).dry_run).toBe(true);
    expect(await done(table.send('POST', `/${row.id}/_restore`))).toEqual({ restored: 1, ids: [row.id] });
    expect(await table.list()).toEqual([row]);
  });

  test('and the history end after their days, each after its own', async () => {
    const table = await newTable(['title:text'], { history: '30d', soft_delete: '2d' });
    const rows = await table.insert({ title: 'old' }, { title: 'older' }, { title: 'oldest' });
    const [old, older, oldest] = rows;
    for (const { id } of rows) await done(table.send('DELETE', `/${id}`));
    const log = `app_${compact(world.app.id)}.l_${compact(table.id)}`;
    for (const [row, hours] of [
      [old, 47],
      [older, 24 * 3],
      [oldest, 24 * 31],
    ])
      await queryDatabase(
        world.server,
        `update ${log} set at = now() - make_interval(hours => $2) where coalesce(new, old)::text like '%' || $1 || '%'`,
        [row.id, hours],
      );
    const trash = await entries(table, '/_trash');
    expect(trash.map(({ before }: { before: { title: string } }) => before.title)).toEqual(['old']);
    expect((await entries(table, `/${older.id}/_history`)).length).toBe(2);
    expect((await table.send('GET', `/${oldest.id}/_history`)).status).toBe(404);
    for (const { id } of [older, oldest])
      expect((await table.send('POST', `/${id}/_restore`, {})).status).toBe(404);
    expect((await done(table.send('POST', `/${old.id}/_restore`, {}))).restored).toBe(1);
  });

  test('answers 409 where a unique value is taken, or what to do where there is none', async () => {
    const table = await newTable();
    await done(table.shape('POST', '/indexes', { columns: ['title'], unique: true }));
    const [row] = await table.insert({ title: 'Tea' });
    await done(table.send('DELETE', `/${row.id}`));
    await table.insert({ title: 'Tea' });
    const taken = await table.send('POST', `/${row.id}/_restore`, {});
    expect([taken.status, taken.body.code]).toEqual([409, 'unique_violation']);
    const off = await world.table(['title:text']);
    for (const path of [`/${row.id}/_history`, '/_trash'])
      expect((await off.send('GET', path)).body.code).toBe('history_off');
    const refused = await off.send('POST', `/${row.id}/_restore`, {});
    expect(refused.body.detail).toContain('--soft-delete 30d --execute');
  });
});

describe.skipIf(isOnCitus)('a change of many rows', () => {
  test('is undone by its request id, all of it or nothing', async () => {
    const table = await newTable();
    await table.batch(Array.from({ length: 20 }, (_, n) => ({ title: `r${n}`, qty: n })));
    const sorted = () => table.list('?sort=qty&select=id,title,qty');
    const before = await sorted();
    const deleted = await table.send('DELETE', '?qty=gte.10');
    const updated = await table.send('PATCH', '?qty=lt.10', { title: 'same' });
    const restore = (answer: typeof deleted, search = '') =>
      table.send('POST', `/_restore${search}`, { request_id: answer.headers.get('x-request-id') });
    const { plan } = await done(restore(deleted, '?dry_run=true'));
    expect(JSON.stringify(plan.changes[0])).toContain('"inserted"');
    expect((await done(restore(deleted))).restored).toBe(10);
    expect((await done(restore(updated))).restored).toBe(10);
    expect(await sorted()).toEqual(before);
    const again = await table.send('PATCH', '?qty=lt.3', { title: 'again' });
    await done(table.send('PATCH', `/${before[1].id}`, { title: 'later' }));
    const conflict = await restore(again);
    expect([conflict.status, conflict.body.code]).toEqual([409, 'restore_conflict']);
    expect((await sorted())[0].title).toBe('again');
    expect((await table.send('POST', '/_restore', { request_id: 'unknown' })).status).toBe(404);
    expect((await table.send('POST', '/_restore', {})).status).toBe(400);
  });

  test('is undone after columns were added and dropped, with their defaults', async () => {
    const table = await newTable(['title:text', 'qty:int:0', 'gone:text:nullable']);
    const [tea, pot] = await table.insert({ title: 'Tea', gone: 'x' }, { title: 'Pot' });
    await done(table.send('DELETE', `/${tea.id}`));
    const updated = await table.send('PATCH', '?title=Pot', { qty: 5 });
    for (const column of [
      { name: 'x', type: 'int', default: 3 },
      { name: 'note', type: 'text', nullable: true },
      { name: 'at', type: 'timestamptz', default: 'now()' },
      { name: 'no', type: 'autonumber' },
    ])
      await done(table.shape('POST', '/columns', column));
    expect((await table.shape('DELETE', '/columns/gone')).status).toBe(204);
    expect((await done(table.send('POST', `/${tea.id}/_restore`))).restored).toBe(1);
    const request_id = updated.headers.get('x-request-id');
    expect((await done(table.send('POST', '/_restore', { request_id }))).restored).toBe(1);
    expect(await table.list('?sort=title&select=title,qty,x,note,no')).toEqual([
      { title: 'Pot', qty: 0, x: 3, note: null, no: 1 },
      { title: 'Tea', qty: 0, x: 3, note: null, no: 2 },
    ]);
    // A value that nobody knows is no reason to try again.
    for (const { id } of [tea, pot]) await done(table.send('DELETE', `/${id}`));
    await done(table.shape('POST', '/columns', { name: 'must', type: 'int' }));
    const { status, body } = await table.send('POST', `/${tea.id}/_restore`);
    expect([status, body.code]).toEqual([409, 'restore_conflict']);
    expect(body.detail).toContain('must');
  });

  test('is undone by people who may not change columns that it left as they were', async () => {
    const ada = await world.visitor();
    const access = { read: ['any'], write: ['any'], columns: { qty: { write: ['role:keeper'] } } };
    const table = await newTable(undefined, { access });
    const send = ada.of(table);
    const [row] = await table.insert({ title: 'Tea', qty: 1 });
    const changed = await send('PATCH', '?title=Tea', { title: 'Pot' });
    const request_id = changed.headers.get('x-request-id');
    expect((await done(send('POST', '/_restore', { request_id }))).restored).toBe(1);
    expect((await done(send('GET', `/${row.id}`))).title).toBe('Tea');
    // A change that they may not make is refused for this reason.
    await done(table.shape('PUT', '/access', { ...access, columns: {} }));
    const both = await send('PATCH', '?title=Tea', { qty: 5 });
    expect(both.status).toBe(200);
    await done(table.shape('PUT', '/access', access));
    const refused = await send('POST', '/_restore', { request_id: both.headers.get('x-request-id') });
    expect([refused.status, refused.body.code]).toEqual([403, 'forbidden']);
  });

  test('is undone by the rights that it takes: updates without the right to insert rows', async () => {
    const ada = await world.visitor();
    const access = { read: ['any'], insert: ['none'], update: ['any'], delete: ['any'] };
    const table = await newTable(undefined, { access });
    const send = ada.of(table);
    const [row] = await table.insert({ title: 'Tea', qty: 1 });
    const undo = async (changed: { headers: Headers }) =>
      send('POST', '/_restore', { request_id: changed.headers.get('x-request-id') });
    const updated = await send('PATCH', '?title=Tea', { title: 'Pot' });
    expect((await undo(updated)).body).toEqual({ restored: 1, ids: [row.id] });
    const refused = await undo(await send('DELETE', '?title=Tea'));
    expect([refused.status, refused.body.code]).toEqual([403, 'forbidden']);
    expect((await send('POST', `/${row.id}/_restore`)).status).toBe(403);
    await done(table.shape('PUT', '/access', { ...access, insert: ['any'], update: ['none'] }));
    const again = await send('POST', `/${row.id}/_restore`);
    expect(again.body).toEqual({ restored: 1, ids: [row.id] });
    await done(table.shape('PUT', '/access', { ...access, update: ['none'] }));
    expect((await undo(updated)).status).toBe(403);
  });

  test('svc rows history, trash and restore', async () => {
    const table = await newTable();
    const [row] = await table.insert({ title: 'Tea' });
    await done(table.send('DELETE', `/${row.id}`));
    const svc = svcFor(world.server, { token: world.owner.token, tenant: world.tenant.slug });
    const run = (...args: string[]) => svc(['rows', ...args, '--app', world.app.slug, '--json']);
    expect((await run('history', table.name, row.id)).json<{ data: unknown[] }>().data.length).toBe(2);
    expect((await run('trash', table.name)).json<{ data: unknown[] }>().data.length).toBe(1);
    expect((await run('restore', table.name, row.id, '--execute')).json()).toMatchObject({ restored: 1 });
  });

  test('svc rows restore --request-id undoes what the request did', async () => {
    const table = await newTable();
    await table.insert({ title: 'Tea', qty: 1 }, { title: 'Pot', qty: 2 }, { title: 'Cup', qty: 3 });
    const titles = async () =>
      (await table.list('?sort=qty&select=title')).map(({ title }: { title: string }) => title);
    const deleted = await table.send('DELETE', '?qty=lt.3');
    const requestId = deleted.headers.get('x-request-id') ?? '';
    const svc = svcFor(world.server, { token: world.owner.token, tenant: world.tenant.slug });
    const restore = (...args: string[]) =>
      svc(['rows', 'restore', table.name, ...args, '--app', world.app.slug, '--json']);
    const preview = await restore('--request-id', requestId);
    expect(preview.json()).toMatchObject({ dry_run: true, plan: { operation: 'rows.restoreMany' } });
    expect(await titles()).toEqual(['Cup']);
    const restored = await restore('--request-id', requestId, '--by', world.owner.id, '--execute');
    expect([restored.code, restored.json()]).toMatchObject([0, { restored: 2 }]);
    expect(await titles()).toEqual(['Tea', 'Pot', 'Cup']);
    const unknown = await restore('--request-id', Bun.randomUUIDv7(), '--execute');
    expect([unknown.code, unknown.stderr]).toEqual([5, expect.stringContaining('not_found')]);
    expect((await restore('--execute')).code).toBe(2);
    expect((await restore('7', '--request-id', requestId, '--execute')).code).toBe(2);
  });
});
