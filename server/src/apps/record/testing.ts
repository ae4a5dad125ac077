import { sql } from 'kysely';
import type { AppAccess, Caller, TenantAccess } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import type { Route } from '../../http/router.ts';
import {
  loginHeaders,
  peopleRoutes,
  type ServerCopy,
  startServerCopy,
} from '../../identity/provider/testing.ts';
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
  const { userId: ownerId } = owner;
  const app: AppAccess = {
    id,
    slug,
    name,
    ownerId,
    visibility,
    record: 'active',
    relation: 'owner',
    previewOf: null,
  };
  for (const { userId: user } of coOwners)
    await testMutation(db, owner, (ctx) => addCoOwner(ctx, { user }), { context: { ...context, app } });
  return app;
}

export type LifecycleWorld = Awaited<ReturnType<typeof lifecycleWorld>>;

/** An app with each kind of person; `path` is `/api/v1/tenants/<tenant>/apps/<app>`. */
export async function lifecycleWorld(database: TestDatabase, server: ServerCopy) {
  const { db } = database;
  const { tenant, admin, member } = await newTenant(db);
  const [owner, coOwner] = [await newUser(db, tenant.id), await newUser(db, tenant.id)];
  const people = { owner, coOwner, admin, member };
  type Who = keyof typeof people;
  const app = await newApp(db, tenant, owner, { coOwners: [coOwner] });
  const path = `/api/v1/tenants/${tenant.slug}/apps/${app.id}`;
  const logins = new Map<Who, Promise<{ authorization: string }>>();
  const as = async (who: Who, method: string, at: string, body?: unknown) => {
    const login = logins.get(who) ?? loginHeaders(database, people[who]);
    logins.set(who, login);
    return server.call(await login, method, at, body);
  };
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
