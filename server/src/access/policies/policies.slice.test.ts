import { expect, test } from 'bun:test';
import type * as shapes from '@svc/contract/access-policies.shapes.ts';
import { sql } from 'kysely';
import type { z } from 'zod';
import { useFixture } from '../../../../scripts/use-fixture.ts';
import type { TenantMutationCtx } from '../../core/context.ts';
import { Failure } from '../../core/problem.ts';
import { newTenant, type TestTenant, testMutation, useTestDatabase } from '../../testing.ts';
import { createPolicy, getPolicy, updatePolicy } from './policies.ts';

import type { PolicyFields } from './store.ts';

const database = useTestDatabase();

const t = useFixture(() => newTenant(database.db));

async function change<T>(verb: (ctx: TenantMutationCtx) => Promise<T>): Promise<T> {
  const options = { context: t.context };
  return (await testMutation<T, { tenant: TestTenant['tenant'] }>(database.db, t.admin, verb, options)).value;
}

type NewPolicy = z.output<typeof shapes.createPolicy.body>;

const create = (fields: Partial<Omit<NewPolicy, 'connector_id'>>) =>
  change((ctx) =>
    createPolicy(ctx, {
      name: `p ${Bun.randomUUIDv7()}`,
      description: '',
      connector_id: '',
      resource_path: '',
      actions: ['read'],
      row_filter: '',
      columns: { mode: 'all', names: [] },
      masks: [],
      enabled: true,
      enforced: false,
      ...fields,
    }),
  );
const update = (policyId: string, set: Partial<Omit<PolicyFields, 'connector_id' | 'masks'>>) =>
  change((ctx) => updatePolicy(ctx, { policyId, set, ifMatch: undefined }));

async function readRefusal(work: Promise<unknown>): Promise<unknown[]> {
  const error = await work.then(
    () => null,
    (error: unknown) => error,
  );
  if (!(error instanceof Failure)) return ['taken', error];
  return [error.code, ...(error.errors ?? []).map(({ field }) => field)];
}
const wrong = (field: string) => ['validation_failed', field];

test('a row filter must be valid for the row API, with any columns', async () => {
  for (const row_filter of [
    '',
    'region=eq.eu',
    'region=eu',
    'region=eq.eu&or=(age.gte.18,and(note.eq."a,b %26 c"))',
    'not.or=(a.is.null,b.not.in.(1,2))',
    'filter=Order Date=gt.2026-01-01',
    'Order Date=gt.2026-01-01',
    'id=not.eq.1&id=lt.9',
  ]) {
    const made = await create({ row_filter });
    expect(made.row_filter).toBe(row_filter);
  }
  for (const row_filter of [
    'zzz(',
    'region',
    '=eq.eu',
    ' ',
    'or=(a.eq.1',
    'or=(a.zz.1)',
    'a=in.(1,2',
    'a=between.(1)',
    'a=is.maybe',
    'a=not.not.eq.1',
    'a=like.x\\',
    'a=eq.%E0%A4',
    'filter=eq.1',
    'select=a',
    'sort=-a',
    'page=2',
    'dry_run=true',
    Array.from({ length: 51 }, () => 'a=1').join('&'),
  ])
    expect([row_filter, await readRefusal(create({ row_filter }))]).toEqual([
      row_filter,
      wrong('row_filter'),
    ]);
});

test('an update is validated in the fields that it changes', async () => {
  const { id } = await create({ row_filter: 'a=1', columns: { mode: 'deny', names: ['b'] } });
  expect(await readRefusal(update(id, { row_filter: 'zzz(' }))).toEqual(wrong('row_filter'));
  expect(await readRefusal(update(id, { columns: { mode: 'allow', names: ['b', 'b'] } }))).toEqual(
    wrong('columns'),
  );
  expect((await update(id, { row_filter: 'a=2' })).row_filter).toBe('a=2');
});

test('a policy stored with an invalid filter can be read, disabled and fixed', async () => {
  const { id } = await create({});
  await sql`update svc.access_policies set row_filter = 'zzz(' where id = ${id}`.execute(database.db);
  const read = await change((ctx) => getPolicy(ctx, { policyId: id }));
  expect(read.row_filter).toBe('zzz(');
  expect((await update(id, { enabled: false })).enabled).toBe(false);
  expect((await update(id, { row_filter: 'zzz(', enabled: true })).enabled).toBe(true);
  expect(await readRefusal(update(id, { row_filter: 'zzz((' }))).toEqual(wrong('row_filter'));
  expect((await update(id, { row_filter: 'zzz=1' })).row_filter).toBe('zzz=1');
});

test('a filter with an unknown placeholder is refused, unless it is stored already', async () => {
  for (const row_filter of ['a=eq.@mee.region', 'a=eq.@you.x', 'a=eq.@me', 'a=eq.@new.a', 'a=in.(@old.a)'])
    expect([row_filter, await readRefusal(create({ row_filter }))]).toEqual([
      row_filter,
      wrong('row_filter'),
    ]);
  expect((await create({ row_filter: 'a=ew.@example.com' })).row_filter).toBe('a=ew.@example.com');
  const { id } = await create({ row_filter: 'a=eq.@me.region' });
  await sql`update svc.access_policies set row_filter = 'a=eq.@mee.b' where id = ${id}`.execute(database.db);
  expect((await update(id, { enabled: false })).row_filter).toBe('a=eq.@mee.b');
});

test('duplicate columns are refused', async () => {
  expect(await readRefusal(create({ columns: { mode: 'deny', names: ['a', 'b', 'a'] } }))).toEqual(
    wrong('columns'),
  );
  const made = await create({ columns: { mode: 'deny', names: ['a', 'A'] } });
  expect(made.columns.names).toEqual(['a', 'A']);
});

test('a mask with arguments that no column can use is refused when it is saved', async () => {
  type Mask = NewPolicy['masks'][number];
  const saved = (kind: Mask['kind'], args: Mask['args']) =>
    readRefusal(create({ masks: [{ column: 'a', kind, args }] }));
  for (const [kind, args] of [
    ['round', {}],
    ['round', { to: 0 }],
    ['round', { to: 'ten' }],
    ['truncate', {}],
    ['truncate', { unit: 'week' }],
    ['partial', { first: 1.5 }],
    ['partial', { last: -1 }],
    ['partial', { keep: 2 }],
    ['hash', { first: 1 }],
  ] as const)
    expect([kind, args, await saved(kind, args)]).toEqual([kind, args, wrong('masks')]);
  expect(await saved('round', { to: 100 })).toEqual(['taken', null]);
  expect(await saved('truncate', { unit: 'month' })).toEqual(['taken', null]);
  expect(await saved('truncate', { to: 'day' })).toEqual(['taken', null]);
});
