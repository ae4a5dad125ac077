import { expect, test } from 'bun:test';
import { sql } from 'kysely';
import { removeCoOwner as endCoOwnership } from '../../apps/record/people.ts';
import { newOwnedApp } from '../../apps/record/testing.ts';
import type { AppAccess, AppMutationCtx, Caller, MutationCtx } from '../../core/context.ts';
import { operator } from '../../identity/provider/testing.ts';
import { setMember } from '../../people/tenants/members.ts';
import { suspendUser } from '../../people/users/users.ts';
import { codeOf, testMutation, untilBlocked, useTestDatabase } from '../../testing.ts';
import { addColumn, dropColumn } from './columns.ts';
import { issueTableGrant, revokeTableGrant } from './grants.ts';
import { addIndex, dropIndex } from './indexes.ts';
import { createTable, dropTable, updateTable } from './tables.ts';
import { updateColumn } from './update-column.ts';

const database = useTestDatabase();

type UseCase = (ctx: AppMutationCtx) => Promise<unknown>;
type AppContext = Pick<AppMutationCtx, 'tenant' | 'app'>;

const column = { name: 'b', type: 'int', nullable: true, default: null } as const;
const create: UseCase = (ctx) =>
  createTable(ctx, { name: 'more', description: '', columns: [column], owner_column: null });
const issue =
  ({ userId }: Caller): UseCase =>
  (ctx) =>
    issueTableGrant(ctx, {
      table: 'notes',
      grant: { principal_type: 'user', principal_id: userId, actions: ['read'] },
    });

/** An app with a table and a grant. Use cases run with the access that the caller had before it changed. */
async function newTableWithGrant() {
  const { db, rows } = database;
  const { tenant, admin, member, owner, coOwner, app } = await newOwnedApp(db);
  const run = (caller: Caller, relation: AppAccess['relation'], useCase: UseCase) => {
    const role = caller === admin ? 'tenant_admin' : 'tenant_member';
    const context: AppContext = { tenant: { ...tenant, role }, app: { ...app, relation } };
    return testMutation(db, caller, (ctx: MutationCtx & AppContext) => useCase(ctx), { context, rows });
  };
  const as = (caller: Caller, useCase: UseCase) => {
    const owners = caller === owner ? 'owner' : 'co_owner';
    return codeOf(run(caller, caller === admin ? 'none' : owners, useCase));
  };
  const notes = { name: 'notes', description: '', columns: [{ ...column, name: 'a' }], owner_column: null };
  await as(owner, (ctx) => createTable(ctx, notes));
  await as(owner, (ctx) =>
    addIndex(ctx, { table: 'notes', index: { columns: ['a'], unique: false, name: 'by_a' } }),
  );
  await as(owner, issue(admin));
  const { rows: grants } = await sql<{ id: string }>`
    select id from svc.table_grants where app_id = ${app.id}`.execute(db);
  const revoke: UseCase = (ctx) => revokeTableGrant(ctx, { table: 'notes', grantId: grants[0]?.id ?? '' });
  const setRole = ({ userId }: Caller, role: 'none' | 'tenant_member' = 'none') =>
    testMutation(db, operator, (ctx) => setMember(ctx, { tenantId: tenant.id, userId, role }));
  const removeCoOwner = () =>
    run(coOwner, 'co_owner', (ctx) => endCoOwnership(ctx, { user: coOwner.userId }));
  const suspend = ({ userId }: Caller) => testMutation(db, operator, (ctx) => suspendUser(ctx, { userId }));
  const useCases: UseCase[] = [
    create,
    issue(member),
    revoke,
    (ctx) => updateTable(ctx, { table: 'notes', set: { name: 'other' } }),
    (ctx) => dropTable(ctx, { table: 'notes' }),
    (ctx) => addColumn(ctx, { table: 'notes', column }),
    (ctx) => updateColumn(ctx, { table: 'notes', column: 'a', set: { name: 'c' } }),
    (ctx) => dropColumn(ctx, { table: 'notes', column: 'a' }),
    (ctx) => addIndex(ctx, { table: 'notes', index: { columns: ['a'], unique: true } }),
    (ctx) => dropIndex(ctx, { table: 'notes', index: 'by_a' }),
  ];
  return { db, app, owner, coOwner, admin, member, as, revoke, setRole, removeCoOwner, suspend, useCases };
}

test('a co-owner removed after authorization changes nothing', async () => {
  const t = await newTableWithGrant();
  await t.removeCoOwner();
  for (const useCase of t.useCases) expect(await t.as(t.coOwner, useCase)).toBe('not_found');
  await sql`update svc.apps set visibility = 'public' where id = ${t.app.id}`.execute(t.db);
  for (const useCase of t.useCases) expect(await t.as(t.coOwner, useCase)).toBe('forbidden');
  for (const useCase of t.useCases.slice(0, 3)) expect(await t.as(t.owner, useCase)).toBe('done');
});

test('an owner who left the tenant or was suspended changes nothing', async () => {
  const gone = await newTableWithGrant();
  await gone.setRole(gone.owner);
  for (const useCase of gone.useCases) expect(await gone.as(gone.owner, useCase)).toBe('not_found');
  const out = await newTableWithGrant();
  await out.suspend(out.owner);
  for (const useCase of out.useCases) expect(await out.as(out.owner, useCase)).toBe('not_found');
});

test('an admin revokes a grant, a former admin does not', async () => {
  const t = await newTableWithGrant();
  const second = await newTableWithGrant();
  expect(await t.as(t.admin, t.revoke)).toBe('done');
  await second.setRole(second.admin, 'tenant_member');
  expect(await second.as(second.admin, second.revoke)).toBe('not_found');
});

test('an app archived after authorization keeps its tables', async () => {
  const t = await newTableWithGrant();
  await sql`update svc.apps set record = 'archived' where id = ${t.app.id}`.execute(t.db);
  for (const useCase of t.useCases)
    expect(await t.as(t.owner, useCase)).toBe(useCase === t.revoke ? 'done' : 'app_not_active');
});

test('a co-owner removed while waiting for the table lock changes nothing', async () => {
  const t = await newTableWithGrant();
  const tx = await t.db.startTransaction().execute();
  await sql`select 1 from svc.app_tables where app_id = ${t.app.id} for update`.execute(tx);
  const waiting = t.as(t.coOwner, issue(t.coOwner));
  await untilBlocked(t.db);
  await t.removeCoOwner();
  await tx.rollback().execute();
  expect(await waiting).toBe('not_found');
});
