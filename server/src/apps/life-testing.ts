import { sql } from 'kysely';
import { type Answer, copyOfServer, loginOf, peopleRoutes, type ServerCopy } from '../identity/testing.ts';
import type { AppAccess, Caller, TenantAccess } from '../plumbing/context.ts';
import type { Route } from '../plumbing/route.ts';
import { newTenant, newUser, type TestDatabase } from '../testing.ts';
import { appLifeRoutes } from './life-routes.ts';
import { appRoutes } from './routes.ts';
import { newApp } from './testing.ts';

/** One copy of the server, with apps and their life, and what else is asked for. */
export function copyWithLife(database: TestDatabase, more: readonly Route[] = []): Promise<ServerCopy> {
  return copyOfServer(database, undefined, [
    ...peopleRoutes,
    ...appRoutes,
    ...appLifeRoutes({ runtime: { kind: 'process' } }),
    ...more,
  ]);
}

export type Who = 'owner' | 'coOwner' | 'admin' | 'member';

export interface LifeWorld {
  tenant: TenantAccess;
  people: Record<Who, Caller>;
  app: AppAccess;
  /** `/api/v1/tenants/<tenant>/apps/<app>` */
  path: string;
  as(who: Who, method: string, path: string, body?: unknown): Promise<Answer>;
  /** As the owner, unless somebody else is named. */
  move(move: string, who?: Who, query?: string): Promise<Answer>;
  set(columns: {
    record?: string;
    runtime?: string;
    is_deployed?: boolean;
    resource_preset?: string;
  }): Promise<void>;
  stored(): Promise<{ record: string; runtime: string; deleted_from: string | null } | undefined>;
}

/** A private app with an owner and a co-owner, and the tenant's admin and a member beside them. */
export async function lifeWorld(database: TestDatabase, server: ServerCopy): Promise<LifeWorld> {
  const { db } = database;
  const { tenant, admin, member } = await newTenant(db);
  const [owner, coOwner] = [await newUser(db, tenant.id), await newUser(db, tenant.id)];
  const people = { owner, coOwner, admin, member };
  const app = await newApp(db, tenant, owner, { coOwners: [coOwner] });
  const path = `/api/v1/tenants/${tenant.slug}/apps/${app.id}`;
  const logins = new Map<Who, Promise<{ authorization: string }>>();
  const as: LifeWorld['as'] = async (who, method, at, body) => {
    const login = logins.get(who) ?? loginOf(database, people[who]);
    logins.set(who, login);
    return server.call(await login, method, at, body);
  };
  return {
    tenant,
    people,
    app,
    path,
    as,
    move: (move, who = 'owner', query = '') =>
      move === 'delete' ? as(who, 'DELETE', `${path}${query}`) : as(who, 'POST', `${path}/${move}${query}`),
    async set(columns) {
      await sql`update svc.apps set record = coalesce(${columns.record ?? null}, record),
        runtime = coalesce(${columns.runtime ?? null}, runtime),
        is_deployed = coalesce(${columns.is_deployed ?? null}, is_deployed),
        resource_preset = coalesce(${columns.resource_preset ?? null}, resource_preset)
        where id = ${app.id}`.execute(db);
    },
    async stored() {
      const { rows } = await sql<{ record: string; runtime: string; deleted_from: string | null }>`
        select record, runtime, deleted_from from svc.apps where id = ${app.id}`.execute(db);
      return rows[0];
    },
  };
}

/** The actions in the tenant's audit about the app, oldest first. */
export async function auditOf({ db }: TestDatabase, { tenant, app }: LifeWorld): Promise<string[]> {
  const { rows } = await sql<{ action: string }>`
    select action from svc.audit_entries where tenant_id = ${tenant.id} and target_id = ${app.id}
    order by seq`.execute(db);
  return rows.map(({ action }) => action);
}
