import type { ClientBase } from 'pg';
import { fail } from '../../plumbing/problem.ts';
import { listAppSchemas } from '../backup/snapshot.ts';
import { NeedsConfirmation } from '../report-error.ts';

/** A server keeps a connection open to hear of changes, whatever machine it runs on. */
export async function refuseWhileServed(client: ClientBase): Promise<void> {
  const { rows } = await client.query<{ count: number }>(
    `select count(*)::int as count from pg_stat_activity
     where datname = current_database() and application_name in ('svc control', 'svc listen', 'svc queue')`,
  );
  if ((rows[0]?.count ?? 0) === 0) return;
  throw fail('invalid_state_transition', { detail: 'A server is running on this database: stop it first.' });
}

/** Anything that a person would miss is reason to ask, not only tenants. */
export async function refuseLoss(control: ClientBase, apps: ClientBase): Promise<void> {
  const { rows } = await control.query<{ slugs: string[]; tenants: number; users: number }>(
    `select array(select slug from svc.tenants order by slug limit 5) as slugs,
       (select count(*)::int from svc.tenants) as tenants, (select count(*)::int from svc.users) as users`,
  );
  const schemas = (await listAppSchemas(apps)).length;
  const { slugs, tenants, users } = rows[0] ?? { slugs: [], tenants: 0, users: 0 };
  if (tenants + users + schemas === 0) return;
  const named = tenants > 0 ? ` (${slugs.join(', ')}${tenants > slugs.length ? ', …' : ''})` : '';
  throw new NeedsConfirmation(
    `This system is not empty: ${tenants} tenants${named}, ${users} users and ${schemas} schemas of apps would be lost.`,
    'Take a backup of it, then run again with --yes to replace it.',
  );
}
