import { afterAll, beforeAll, expect, test } from 'bun:test';
import { sql } from 'kysely';
import { removeCoOwner } from '../apps/remove-co-owner.ts';
import { newApp } from '../apps/testing.ts';
import { operator } from '../identity/testing.ts';
import type { AppAccess, AppMutationCtx, Caller, MutationCtx } from '../plumbing/context.ts';
import { setMember } from '../tenants/set-member.ts';
import { codeOf, newTenant, newUser, type TestDatabase, testDatabase, testMutation } from '../testing.ts';
import { suspendUser } from '../users/suspend-user.ts';
import { addColumn } from './add-column.ts';
import { addIndex } from './add-index.ts';
import { createTable } from './create-table.ts';
import { dropColumn } from './drop-column.ts';
import { dropIndex } from './drop-index.ts';
import { dropTable } from './drop-table.ts';
import { issueTableGrant } from './issue-table-grant.ts';
import { revokeTableGrant } from './revoke-table-grant.ts';
import { updateColumn } from './update-column.ts';
import { updateTable } from './update-table.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.close());

type Verb = (ctx: AppMutationCtx) => Promise<unknown>;
type Place = Pick<AppMutationCtx, 'tenant' | 'app'>;

const column = { name: 'b', type: 'int', nullable: true, default: null } as const;
const create: Verb = (ctx) =>
  createTable(ctx, { name: 'more', description: '', columns: [column], owner_column: null });
const issue =
  ({ userId }: Caller): Verb =>
  (ctx) =>
    issueTableGrant(ctx, {
      table: 'notes',
      grant: { principal_type: 'user', principal_id: userId, actions: ['read'] },
    });

/** An app with a table and a grant; calls that have been let through as what the person was a moment ago. */
async function world() {
  const { db, rows } = database;
  const { tenant, admin, member } = await newTenant(db);
  const [owner, coOwner] = [await newUser(db, tenant.id), await newUser(db, tenant.id)];
  const app = await newApp(db, tenant, owner, { coOwners: [coOwner] });
  const run = (caller: Caller, relation: AppAccess['relation'], verb: Verb) => {
    const role = caller === admin ? 'tenant_admin' : 'tenant_member';
    const context: Place = { tenant: { ...tenant, role }, app: { ...app, relation } };
    return testMutation(db, caller, (ctx: MutationCtx & Place) => verb(ctx), { context, rows });
  };
  const as = (caller: Caller, verb: Verb) => {
    const owners = caller === owner ? 'owner' : 'co_owner';
    return codeOf(run(caller, caller === admin ? 'none' : owners, verb));
  };
  const notes = { name: 'notes', description: '', columns: [{ ...column, name: 'a' }], owner_column: null };
  await as(owner, (ctx) => createTable(ctx, notes));
  await as(owner, (ctx) =>
    addIndex(ctx, { table: 'notes', index: { columns: ['a'], unique: false, name: 'by_a' } }),
  );
  await as(owner, issue(admin));
  const { rows: grants } = await sql<{ id: string }>`
    select id from svc.table_grants where app_id = ${app.id}`.execute(db);
  const revoke: Verb = (ctx) => revokeTableGrant(ctx, { table: 'notes', grantId: grants[0]?.id ?? '' });
  const leaves = ({ userId }: Caller, role: 'none' | 'tenant_member' = 'none') =>
    testMutation(db, operator, (ctx) => setMember(ctx, { tenantId: tenant.id, userId, role }));
  const stepsDown = () => run(coOwner, 'co_owner', (ctx) => removeCoOwner(ctx, { user: coOwner.userId }));
  const suspended = ({ userId }: Caller) => testMutation(db, operator, (ctx) => suspendUser(ctx, { userId }));
  const verbs: Verb[] = [
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
  return {
    db,
    app,
    tenant,
    owner,
    coOwner,
    admin,
    member,
    as,
    revoke,
    leaves,
    stepsDown,
    suspended,
    verbs,
  };
}

test('a co-owner who was removed after they were let through changes nothing', async () => {
  const t = await world();
  await t.stepsDown();
  for (const verb of t.verbs) expect(await t.as(t.coOwner, verb)).toBe('not_found');
  await sql`update svc.apps set visibility = 'public' where id = ${t.app.id}`.execute(t.db);
  for (const verb of t.verbs) expect(await t.as(t.coOwner, verb)).toBe('forbidden');
  for (const verb of t.verbs.slice(0, 3)) expect(await t.as(t.owner, verb)).toBe('done');
});

test('an owner who has left the tenant, or was suspended, changes nothing, though the app stays theirs', async () => {
  const gone = await world();
  await gone.leaves(gone.owner);
  for (const verb of gone.verbs) expect(await gone.as(gone.owner, verb)).toBe('not_found');
  const out = await world();
  await out.suspended(out.owner);
  for (const verb of out.verbs) expect(await out.as(out.owner, verb)).toBe('not_found');
});

test('an admin ends a grant, and none who was one a moment ago', async () => {
  const t = await world();
  const second = await world();
  expect(await t.as(t.admin, t.revoke)).toBe('done');
  await second.leaves(second.admin, 'tenant_member');
  expect(await second.as(second.admin, second.revoke)).toBe('not_found');
});

test('an app that was archived after the caller was let through keeps its tables as they are', async () => {
  const t = await world();
  await sql`update svc.apps set record = 'archived' where id = ${t.app.id}`.execute(t.db);
  for (const verb of t.verbs)
    expect(await t.as(t.owner, verb)).toBe(verb === t.revoke ? 'done' : 'app_not_active');
});

test('who is removed while waiting for the table changes nothing when it is their turn', async () => {
  const t = await world();
  const tx = await t.db.startTransaction().execute();
  await sql`select 1 from svc.app_tables where app_id = ${t.app.id} for update`.execute(tx);
  const waiting = t.as(t.coOwner, issue(t.coOwner));
  await Bun.sleep(200);
  await t.stepsDown();
  await tx.rollback().execute();
  expect(await waiting).toBe('not_found');
});
