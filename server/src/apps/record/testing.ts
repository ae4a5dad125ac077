import { sql } from 'kysely';
import type { AppAccess, Caller, TenantAccess } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import type { Route } from '../../http/router.ts';
import { callsOf, peopleRoutes, type ServerCopy, startServerCopy } from '../../identity/provider/testing.ts';
import { newTenant, newUser, type TestDatabase, testMutation } from '../../testing.ts';
import { appRoutes } from '../routes.ts';
import { createApp } from './apps.ts';
import { addCoOwner } from './people.ts';

export function startAppServer(database: TestDatabase, more: readonly Route[] = []): Promise<ServerCopy> {
  return startServerCopy(database, undefined, [...peopleRoutes, ...appRoutes, ...more]);
}

export async function newApp(
  db: Db,
  tenant: TenantAccess,
  owner: Caller,
  {
    visibility = 'private',
    coOwners = [],
  }: Partial<Pick<AppAccess, 'visibility'>> & { coOwners?: readonly Caller[] } = {},
): Promise<AppAccess> {
  const context = { tenant: { ...tenant, role: 'tenant_member' as const } };
  const name = `a-${Bun.randomUUIDv7().replaceAll('-', '').slice(-20)}`;
  const { value } = await testMutation(db, owner, (ctx) => createApp(ctx, { name }), { context });
  const { id, slug } = value;
  await sql`update svc.apps set visibility = ${visibility} where id = ${id}`.execute(db);
  const state = { visibility, record: 'active', relation: 'owner', previewOf: null } as const;
  const app: AppAccess = { id, slug, name, ownerId: owner.userId, ...state };
  for (const { userId: user } of coOwners)
    await testMutation(db, owner, (ctx) => addCoOwner(ctx, { user }), { context: { ...context, app } });
  return app;
}

/** An app of `owner` and `coOwner` in a tenant of its own. */
export async function newOwnedApp(db: Db, set: Partial<Pick<AppAccess, 'visibility'>> = {}) {
  const people = await newTenant(db);
  const { id } = people.tenant;
  const [owner, coOwner] = [await newUser(db, id), await newUser(db, id)];
  const app = await newApp(db, people.tenant, owner, { ...set, coOwners: [coOwner] });
  return { ...people, owner, coOwner, app };
}

export type LifecycleWorld = Awaited<ReturnType<typeof lifecycleWorld>>;

/** An app with each kind of person; `path` is `/api/v1/tenants/<tenant>/apps/<app>`. */
export async function lifecycleWorld(database: TestDatabase, server: ServerCopy) {
  const { db } = database;
  const { tenant, admin, member, owner, coOwner, app } = await newOwnedApp(db);
  const people = { owner, coOwner, admin, member };
  type Who = keyof typeof people;
  const path = `/api/v1/tenants/${tenant.slug}/apps/${app.id}`;
  const as = callsOf(database, server, people);
  return {
    tenant,
    people,
    app,
    path,
    as,
    move: (move: string, who: Who = 'owner', query = '') =>
      move === 'delete' ? as(who, 'DELETE', `${path}${query}`) : as(who, 'POST', `${path}/${move}${query}`),
    async set(columns: {
      record?: string;
      runtime?: string;
      is_deployed?: boolean;
      resource_preset?: string;
    }) {
      for (const [column, value] of Object.entries(columns))
        await sql`update svc.apps set ${sql.ref(column)} = ${value} where id = ${app.id}`.execute(db);
    },
    async stored() {
      const { rows } = await sql<{ record: string; runtime: string; deleted_from: string | null }>`
        select record, runtime, deleted_from from svc.apps where id = ${app.id}`.execute(db);
      return rows[0];
    },
    async auditActions(): Promise<string[]> {
      const { rows } = await sql<{ action: string }>`
        select action from svc.audit_entries where tenant_id = ${tenant.id} and target_id = ${app.id}
        order by seq`.execute(db);
      return rows.map(({ action }) => action);
    },
  };
}
