import { sql } from 'kysely';
import { copyOfServer, peopleRoutes, type ServerCopy } from '../identity/testing.ts';
import type { AppAccess, Caller, TenantAccess } from '../plumbing/context.ts';
import type { Db } from '../plumbing/db.ts';
import { type TestDatabase, testMutation } from '../testing.ts';
import { addCoOwner } from './add-co-owner.ts';
import { createApp } from './create-app.ts';
import { ownerRoutes } from './owner-routes.ts';
import { appRoutes } from './routes.ts';

/** One copy of the server, with apps and the people who own them. */
export function copyWithApps(database: TestDatabase): Promise<ServerCopy> {
  return copyOfServer(database, undefined, [...peopleRoutes, ...appRoutes, ...ownerRoutes]);
}

/** An app of the person's own, seen as they see it. */
export async function newApp(
  db: Db,
  tenant: TenantAccess,
  owner: Caller,
  set: { visibility?: AppAccess['visibility']; coOwners?: readonly Caller[] } = {},
): Promise<AppAccess> {
  const visibility = set.visibility ?? 'private';
  const asMember: TenantAccess = { ...tenant, role: 'tenant_member' };
  const name = `a-${Bun.randomUUIDv7().replaceAll('-', '').slice(-20)}`;
  const { value: made } = await testMutation(db, owner, (ctx) => createApp(ctx, { name }), {
    context: { tenant: asMember },
  });
  const { id, slug } = made;
  await sql`update svc.apps set visibility = ${visibility} where id = ${id}`.execute(db);
  const app: AppAccess = {
    id,
    slug,
    name,
    ownerId: owner.userId,
    visibility,
    record: 'active',
    relation: 'owner',
  };
  for (const { userId: user } of set.coOwners ?? []) {
    await testMutation(db, owner, (ctx) => addCoOwner(ctx, { user }), { context: { tenant: asMember, app } });
  }
  return app;
}
