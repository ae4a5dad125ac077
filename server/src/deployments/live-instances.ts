import { sql } from 'kysely';
import type { Db } from '../plumbing/db.ts';
import { confirmedSeconds } from './instances-store.ts';

export interface LiveInstances {
  deploymentId: string;
  addresses: string[];
}

/** Where an app answers that is no site of files alone; null: it is one, or nothing of it runs. Dropped by the app's tag. */
export async function liveInstancesOf(db: Db, appId: string): Promise<LiveInstances | null> {
  const { rows } = await sql<LiveInstances>`
    select d.id as "deploymentId", array(
      select i.address from svc.app_instances i
      where i.deployment_id = d.id and i.state = 'ready' and i.address is not null
        and i.confirmed_at > now() - make_interval(secs => ${confirmedSeconds})
      order by i.started_at) as addresses
    from svc.apps a join svc.deployments d on d.id = a.live_deployment_id
    where a.id = ${appId} and a.record = 'active' and a.runtime = 'running' and d.method <> 'static'`.execute(
    db,
  );
  return rows[0] ?? null;
}
