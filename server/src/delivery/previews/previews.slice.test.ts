import { describe, expect, test } from 'bun:test';
import { columnSpecText } from '@svc/contract/column-spec.ts';
import { applyTables as applyShape } from '@svc/contract/declared-tables.shapes.ts';
import { previewsMax } from '@svc/contract/previews.ts';
import {
  addColumn as addShape,
  createTable as createShape,
  addIndex as indexShape,
  updateColumn as updateShape,
} from '@svc/contract/tables.shapes.ts';
import { sql } from 'kysely';
import { findAppRow } from '../../apps/record/find-app.ts';
import { newApp } from '../../apps/record/testing.ts';
import { updateApp } from '../../apps/record/update-app.ts';
import type { AppCtx, AppMutationCtx } from '../../core/context.ts';
import { createDataSchema } from '../../data/rows/data-schema.ts';
import { isStorageEnabled } from '../../data/storage/storage.ts';
import { applyTables, exportTables } from '../../data/tables/apply-tables.ts';
import { addColumn, dropColumn } from '../../data/tables/columns.ts';
import { addIndex } from '../../data/tables/indexes.ts';
import { columnSpec, formatIndex } from '../../data/tables/rules.ts';
import { listAllTableRows } from '../../data/tables/store.ts';
import { createTable } from '../../data/tables/tables.ts';
import { updateColumn } from '../../data/tables/update-column.ts';
import type { GitHost } from '../../drivers/git/git-host.ts';
import type { RawDatabases } from '../../drivers/raw-database/raw-databases.ts';
import { newTenant, newUser, silentLog, testDeps, testMutation, useTestDatabase } from '../../testing.ts';
import { listPreviewRows } from './preview-records.ts';
import { createPushPreviews, removeExpiredPreviews, removePreviews } from './previews.ts';

const database = useTestDatabase();
const previews = createPushPreviews({ gitHost: {} as GitHost, raw: {} as RawDatabases });

async function newWorld() {
  const { db } = database;
  const { tenant } = await newTenant(db);
  const owner = await newUser(db, tenant.id);
  const app = await newApp(db, tenant, owner);
  const ref = { tenantId: tenant.id, appId: app.id };
  const context = { tenant: { ...tenant, role: 'tenant_member' as const }, app };
  const push = async (branch: string, { commit = 'a'.repeat(40) } = {}) => {
    const row = await findAppRow(db, tenant.id, app.id);
    if (!row) throw new Error('The app does not exist.');
    const pushed = {
      app: row,
      branch,
      commit,
      repo: 'o/r',
      createdBy: owner.userId,
      settings: { ttlSeconds: 3_600 },
    };
    const { rows } = database;
    return (await testMutation(db, owner, (ctx) => previews.push(ctx, pushed), { context, rows })).value;
  };
  const list = () => listPreviewRows(db, ref);
  return { db, tenant, owner, app, ref, context, push, list };
}

describe('previews of an app', () => {
  test(`are at most ${previewsMax}, and another push to one of them deploys it again`, async () => {
    const t = await newWorld();
    for (let at = 0; at < previewsMax; at++)
      expect(await t.push(`feature/${at}`)).toMatchObject({ outcome: 'preview' });
    expect(await t.push('feature/more')).toEqual({ outcome: 'preview_limit' });
    expect(await t.push('feature/3')).toEqual({ outcome: 'repeated' });
    expect(await t.push('feature/3', { commit: 'b'.repeat(40) })).toMatchObject({ outcome: 'preview' });
    expect((await t.list()).length).toBe(previewsMax);
  });

  test('of branches with the same name in a host have hosts of their own', async () => {
    const t = await newWorld();
    await t.push('feature/x');
    await t.push('feature-x');
    const slugs = (await t.list()).map(({ branch, slug }) => `${branch} ${slug}`).sort();
    expect(slugs).toEqual([
      expect.stringMatching(/^feature-x feature-x-[0-9a-f]{6}$/),
      'feature/x feature-x',
    ]);
  });

  test('have no host below the name staging, and follow a new subdomain of the app', async () => {
    const t = await newWorld();
    await t.push('feature/x');
    const subdomain = `moved-${Bun.randomUUIDv7().slice(-12)}`;
    await testMutation(t.db, t.owner, (ctx) => updateApp(ctx, { subdomain }), { context: t.context });
    expect((await t.list())[0]?.subdomain).toBe(`feature-x--${subdomain}`);
    await sql`update svc.apps set subdomain = null where subdomain = 'staging'`.execute(t.db);
    await sql`update svc.apps set subdomain = 'staging' where id = ${t.app.id}`.execute(t.db);
    expect(await t.push('feature/y')).toEqual({ outcome: 'preview_no_host' });
    await sql`update svc.apps set subdomain = null where id = ${t.app.id}`.execute(t.db);
  });

  test('get the new tables and columns of the app with their next build, and lose nothing', async () => {
    const t = await newWorld();
    const change = <T>(useCase: (ctx: AppMutationCtx) => Promise<T>) =>
      testMutation<T, typeof t.context>(t.db, t.owner, useCase, { context: t.context, rows: database.rows });
    const create = (name: string, columns: string[]) =>
      change((ctx) => createTable(ctx, createShape.body.parse({ name, columns })));
    await create('pets', ['name:text']);
    await t.push('feature/x');
    const [preview] = await t.list();
    const ref = { tenantId: t.tenant.id, appId: preview!.app_id };
    const columnsOf = async () =>
      (await listAllTableRows(t.db, ref)).map(
        ({ name, columns }) =>
          `${name}: ${columns.flatMap((column) => (column.role === 'plain' ? `${column.name}${column.nullable ? '?' : ''}` : [])).join(' ')}`,
      );
    expect(await columnsOf()).toEqual(['pets: name']);
    await create('owners', ['email:text']);
    for (const text of ['age:int', 'tags:int:3']) {
      const column = addShape.body.parse(text);
      await change((ctx) => addColumn(ctx, { table: 'pets', column }));
    }
    await change((ctx) => dropColumn(ctx, { table: 'pets', column: 'name' }));
    await t.push('feature/x', { commit: 'b'.repeat(40) });
    expect((await columnsOf()).sort()).toEqual(['owners: email', 'pets: name age? tags']);
  });

  test('get the references between the tables of the app, to their own tables', async () => {
    const t = await newWorld();
    const change = <T>(work: (ctx: AppMutationCtx) => Promise<T>) =>
      testMutation<T, typeof t.context>(t.db, t.owner, work, { context: t.context, rows: database.rows });
    const create = (name: string, columns: string[]) =>
      change((ctx) => createTable(ctx, createShape.body.parse({ name, columns })));
    await create('teams', ['name:text']);
    await create('people', ['team:ref:teams', 'boss:ref:people:nullable(on_delete=set_null)']);
    await t.push('feature/x');
    const add = addShape.body.parse('lead:ref:people:nullable');
    await change((ctx) => addColumn(ctx, { table: 'teams', column: add }));
    await t.push('feature/x', { commit: 'b'.repeat(40) });
    const [preview] = await t.list();
    const copies = await listAllTableRows(t.db, { tenantId: t.tenant.id, appId: preview?.app_id ?? '' });
    const ids = new Map(copies.map(({ id, name }) => [id, name]));
    expect(
      copies.flatMap(({ columns }) =>
        columns.flatMap((column) =>
          column.ref_table ? `${columnSpecText(columnSpec(column))} ${ids.get(column.ref_table)}` : [],
        ),
      ),
    ).toEqual([
      'team:ref:teams teams',
      'boss:ref:people:nullable(on_delete=set_null) people',
      'lead:ref:people:nullable people',
    ]);
  });

  test('get the types, values of enums, checks and indexes that columns of the app got since', async () => {
    const t = await newWorld();
    const change = <T>(work: (ctx: AppMutationCtx) => Promise<T>) =>
      testMutation<T, typeof t.context>(t.db, t.owner, work, { context: t.context, rows: database.rows });
    const columns = ['state:enum(open,paid)', 'age:int', 'price:decimal(5,2,min=0.00)', 'no:autonumber'];
    await change((ctx) => createTable(ctx, createShape.body.parse({ name: 'orders', columns })));
    await t.push('feature/x');
    const [preview] = await t.list();
    const ref = { tenantId: t.tenant.id, appId: preview?.app_id ?? '' };
    const copied = async () => {
      const [table] = await listAllTableRows(t.db, ref);
      return {
        columns: table?.columns.flatMap((column) =>
          column.role === 'plain' ? columnSpecText(columnSpec(column)) : [],
        ),
        indexes: table?.indexes.map((index) => formatIndex(table, index)),
      };
    };
    expect(await copied()).toEqual({ columns, indexes: [] });
    const update = (column: string, set: unknown) =>
      change((ctx) => updateColumn(ctx, { table: 'orders', column, set: updateShape.body.parse(set) }));
    await update('state', { type: 'enum(open,paid,lost)' });
    await update('age', { type: 'bigint', checks: { max: 150 } });
    await change((ctx) =>
      addColumn(ctx, { table: 'orders', column: addShape.body.parse('tags:text[](max_length=3):[]') }),
    );
    for (const index of [{ columns: ['tags'] }, { columns: ['age'], unique: true }])
      await change((ctx) => addIndex(ctx, { table: 'orders', index: indexShape.body.parse(index) }));
    await t.push('feature/x', { commit: 'b'.repeat(40) });
    expect(await copied()).toEqual({
      columns: [
        'state:enum(open,paid,lost)',
        'age:bigint(max=150)',
        'price:decimal(5,2,min=0.00)',
        'no:autonumber',
        'tags:text[](max_length=3):[]',
      ],
      indexes: ['age_key: unique (age)', 'tags_idx: (tags)'],
    });
  });

  test('get feeds, history, trash, searches, files and other deletions of references, also later', async () => {
    const t = await newWorld();
    await createDataSchema({ url: database.url, role: null });
    const change = <T>(work: (ctx: AppMutationCtx) => Promise<T>) =>
      testMutation<T, typeof t.context>(t.db, t.owner, work, { context: t.context, rows: database.rows });
    const apply = (tables: unknown) => {
      const body = applyShape.body.parse({ tables, prune: true, allow_destructive: true });
      return change((ctx) => applyTables(ctx, body));
    };
    const copied = async () => {
      const [preview] = await t.list();
      const appId = preview?.app_id ?? '';
      const exported = await exportTables({ db: t.db, tenant: t.tenant, app: { id: appId } } as AppCtx);
      return {
        tables: exported.tables,
        storage: await isStorageEnabled(t.db, { tenantId: t.tenant.id, appId }),
      };
    };
    const access = 'read-only';
    const first = {
      people: { columns: ['name:text'], access },
      posts: { columns: ['title:text', 'author:ref:people:nullable'], history: '7d', access },
    };
    await apply(first);
    await t.push('feature/x');
    expect(await copied()).toEqual({ tables: first, storage: false } as never);
    const second = {
      people: { columns: ['name:text', 'photo:file:nullable'], changes: true, access },
      posts: {
        columns: ['title:text', 'author:ref:people:nullable(on_delete=set_null)'],
        history: '30d',
        soft_delete: '9d',
        indexes: [{ name: 'words', search: { title: 'A' }, language: 'german' }],
        access,
      },
    };
    await apply(second);
    await t.push('feature/x', { commit: 'b'.repeat(40) });
    expect(await copied()).toEqual({ tables: second, storage: true } as never);
    await apply({ people: second.people, posts: { ...second.posts, history: '2d' } });
    await t.push('feature/x', { commit: 'c'.repeat(40) });
    expect(await copied()).toEqual({ tables: second, storage: true } as never);
    await t.push('feature/y');
  });

  test('make the plan of what removes them irreversible', async () => {
    const t = await newWorld();
    const plan = async () => {
      const ref = { tenantId: t.tenant.id, appId: t.app.id };
      const { result } = await testMutation(t.db, t.owner, (ctx) => removePreviews(ctx, ref), {
        mode: 'preview',
        rows: database.rows,
      });
      return result.kind === 'previewed' ? [result.plan.irreversible, result.plan.warnings] : [];
    };
    expect(await plan()).toEqual([false, []]);
    await t.push('feature/x');
    const warning = 'The preview of feature/x is removed with its rows and files.';
    expect(await plan()).toEqual([true, [warning]]);
  });

  test('are removed when there was no push for their time', async () => {
    const t = await newWorld();
    await t.push('short');
    await t.push('long');
    await sql`update svc.previews set expires_at = now() - interval '1 second'
      where parent_id = ${t.app.id} and branch = 'short'`.execute(t.db);
    const base = { db: t.db, rows: database.rows, log: silentLog };
    await removeExpiredPreviews({ ...base, now: () => new Date(), ...testDeps });
    expect((await t.list()).map(({ branch }) => branch)).toEqual(['long']);
  });
});
