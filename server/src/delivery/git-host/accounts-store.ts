import { sql } from 'kysely';
import type { Db } from '../../core/db.ts';

export interface HostUser {
  id: number;
  userId: string;
  login: string;
}

export interface HostInstallation {
  id: number;
  tenantId: string;
  createdAt: Date;
}

export async function findOrCreateHostUser(db: Db, { userId, email }: { userId: string; email: string }) {
  const stem = loginFromEmail(email);
  for (let attempt = 0; ; attempt++) {
    const found = await findHostUser(db, userId);
    if (found) return found;
    if (attempt > 50) throw new Error('No free login at the git host after 50 attempts.');
    // On a conflict the login belongs to another user, or a parallel request created this one: the next round decides.
    const login =
      attempt === 0 ? stem : `${stem}-${attempt < 10 ? attempt + 1 : Bun.randomUUIDv7().slice(-8)}`;
    await sql`insert into svc.git_host_users (user_id, login) values (${userId}, ${login})
      on conflict do nothing`.execute(db);
  }
}

async function findHostUser(db: Db, userId: string): Promise<HostUser | null> {
  const { rows } = await sql<HostUser>`
    select id, user_id as "userId", login from svc.git_host_users where user_id = ${userId}`.execute(db);
  return rows[0] ?? null;
}

/** A trigger creates the installation together with the tenant, so reading it writes nothing. */
export async function getTenantInstallation(db: Db, tenantId: string): Promise<HostInstallation> {
  const { rows } = await sql<HostInstallation>`
    select id, tenant_id as "tenantId", created_at as "createdAt"
    from svc.git_host_installations where tenant_id = ${tenantId}`.execute(db);
  if (!rows[0]) throw new Error(`Tenant ${tenantId} has no git host installation.`);
  return rows[0];
}

export async function findInstallation(db: Db, id: number): Promise<HostInstallation | null> {
  const { rows } = await sql<HostInstallation>`
    select id, tenant_id as "tenantId", created_at as "createdAt"
    from svc.git_host_installations where id = ${id}`.execute(db);
  return rows[0] ?? null;
}

function loginFromEmail(email: string): string {
  const local = (email.split('@')[0] ?? '').toLowerCase().replace(/[^a-z0-9]+/g, '-');
  const stem = local.slice(0, 39).replace(/^-+|-+$/g, '');
  return stem === '' ? 'user' : stem;
}

export async function listAccountUserIds(db: Db, accountId: number): Promise<string[]> {
  const { rows } = await sql<{ userId: string }>`
    select user_id as "userId" from svc.git_host_users where id = ${accountId}`.execute(db);
  return rows.map(({ userId }) => userId);
}
