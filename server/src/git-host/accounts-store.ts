import { sql } from 'kysely';
import type { Db } from '../plumbing/db.ts';

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

/** The number and the name of one of the platform's people at the host; made when first asked for. */
export async function hostUserOf(
  db: Db,
  { userId, email }: { userId: string; email: string },
): Promise<HostUser> {
  const stem = loginOf(email);
  for (let attempt = 0; ; attempt++) {
    const found = await findHostUser(db, userId);
    if (found) return found;
    if (attempt > 50) throw new Error('No free name at the git host was found.');
    // Names of others are passed over; the same person made by two requests at once is found in the next round.
    const login =
      attempt === 0 ? stem : `${stem}-${attempt < 10 ? attempt + 1 : Bun.randomUUIDv7().slice(-8)}`;
    await sql`insert into svc.git_host_users (user_id, login) values (${userId}, ${login})
      on conflict do nothing`.execute(db);
  }
}

export async function findHostUser(db: Db, userId: string): Promise<HostUser | null> {
  const { rows } = await sql<HostUser>`
    select id, user_id as "userId", login from svc.git_host_users where user_id = ${userId}`.execute(db);
  return rows[0] ?? null;
}

export async function findHostUserAt(db: Db, id: number): Promise<HostUser | null> {
  const { rows } = await sql<HostUser>`
    select id, user_id as "userId", login from svc.git_host_users where id = ${id}`.execute(db);
  return rows[0] ?? null;
}

/** The app is installed for each tenant: the row comes with that of the tenant, so that asking writes nothing. */
export async function installationOfTenant(db: Db, tenantId: string): Promise<HostInstallation> {
  const { rows } = await sql<HostInstallation>`
    select id, tenant_id as "tenantId", created_at as "createdAt"
    from svc.git_host_installations where tenant_id = ${tenantId}`.execute(db);
  if (!rows[0]) throw new Error('A tenant has no installation.');
  return rows[0];
}

export async function findInstallation(db: Db, id: number): Promise<HostInstallation | null> {
  const { rows } = await sql<HostInstallation>`
    select id, tenant_id as "tenantId", created_at as "createdAt"
    from svc.git_host_installations where id = ${id}`.execute(db);
  return rows[0] ?? null;
}

function loginOf(email: string): string {
  const local = (email.split('@')[0] ?? '').toLowerCase().replace(/[^a-z0-9]+/g, '-');
  const stem = local.slice(0, 39).replace(/^-+|-+$/g, '');
  return stem === '' ? 'user' : stem;
}
