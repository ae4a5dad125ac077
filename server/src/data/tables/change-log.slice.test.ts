import { expect, test } from 'bun:test';
import { sql } from 'kysely';
import { useFixture } from '../../../../scripts/use-fixture.ts';
import { useTestDatabase } from '../../testing.ts';
import { createDataSchema } from '../rows/data-schema.ts';
import { physicalLogName, physicalSchemaName } from './catalogue.ts';
import { deleteOldChanges } from './change-log.ts';
import { insertRow, newTestTables } from './testing.ts';

const database = useTestDatabase();

const t = useFixture(() => newTestTables(database));

const logOf = (table: { id: string }) => sql.id(physicalSchemaName(t.app.id), physicalLogName(table.id));

const ages = async (table: { id: string }) =>
  (
    await sql<{ hours: number; xid: string }>`
      select round(extract(epoch from now() - at) / 3600)::int as hours, xid::text from ${logOf(table)} order by at`.execute(
      database.db,
    )
  ).rows;

async function newLogged(name: string, more: object) {
  const table = await t.table(name, ['id:int', 'n:int'], more);
  for (const [id, hours] of [24 * 31, 24 * 20, 26, 24, 0].entries()) {
    await insertRow(database, t, table, { 1: id, 2: 0, 3: new Date(), 4: new Date() });
    await sql`update ${logOf(table)} set at = now() - make_interval(hours => ${hours})
      where new ->> 'c1' = ${String(id)}`.execute(database.db);
  }
  return table;
}

test('changes are kept as long as a position is accepted, or as history and trash need them', async () => {
  const feed = await newLogged('feed', { changes: true });
  const history = await newLogged('history', { changes: true, history: '30d' });
  const trash = await newLogged('trash', { soft_delete: '2d' });
  await deleteOldChanges({ db: database.db, rowsDb: database.db });
  const hours = async (table: { id: string }) => (await ages(table)).map((each) => each.hours);
  expect(await hours(feed)).toEqual([24, 0]);
  expect(await hours(history)).toEqual([480, 26, 24, 0]);
  expect(await hours(trash)).toEqual([26, 24, 0]);
});

test('a shorter history or trash has an irreversible plan that says what is lost', async () => {
  await t.table('short', ['n:int'], { history: '30d', soft_delete: '30d' });
  const plan = async (set: object) => {
    const { body } = await t.call('PATCH', '/short?dry_run=true', set);
    return [body.plan.irreversible, body.plan.warnings];
  };
  expect(await plan({ history: null })).toEqual([true, ['The history of short is lost.']]);
  expect(await plan({ soft_delete: null })).toEqual([true, ['The trash of short is lost.']]);
  expect(await plan({ history: '7d', soft_delete: '1d' })).toEqual([
    true,
    [
      'The history of short is lost, except that of the last 7 days.',
      'The trash of short is lost, except that of the last day.',
    ],
  ]);
  for (const set of [{ history: '30d' }, { history: '60d', soft_delete: '90d' }, { changes: true }])
    expect(await plan({ ...set, description: 'Changed' })).toEqual([false, []]);
  await t.call('PATCH', '/short', { history: null, soft_delete: null, changes: true });
  for (const set of [{ history: '7d' }, { changes: false }]) expect(await plan(set)).toEqual([false, []]);
});

test('a database that was restored has another epoch, and its logs forget their transactions', async () => {
  const open = () => createDataSchema({ url: database.url, role: null });
  const { epoch } = await open();
  const table = await newLogged('restored', { changes: true });
  expect(await open()).toEqual({ epoch });
  expect((await ages(table)).some(({ xid }) => xid === '0')).toBe(false);
  // Backups do not have it.
  await sql`drop table svc_data.epoch`.execute(database.db);
  expect((await open()).epoch).not.toBe(epoch);
  expect((await ages(table)).every(({ xid }) => xid === '0')).toBe(true);
});
