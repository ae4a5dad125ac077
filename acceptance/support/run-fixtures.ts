import { nodeApp, uploadSource } from './apps.ts';
import { queryDatabase } from './database.ts';
import { liveProcess } from './fixtures.ts';
import { done, newApp, type Person } from './people.ts';
import { until } from './until.ts';
import type { World } from './world.ts';

/** An app with as many runs as it can have at once: new ones wait. */
async function busyProcess(world: World, owner: Person) {
  const { app } = await liveProcess(world, owner);
  await queryDatabase(
    world.tenant.server,
    `insert into svc.app_runs (id, tenant_id, app_id, schedule, due_at, command, timeout_seconds, state, created_at,
       lease_holder, lease_until)
     select gen_random_uuid(), tenant_id, id, 'busy', now() + make_interval(secs => n), 'true', 60, 'running', now(),
       gen_random_uuid(), now() + interval '1 day'
     from svc.apps, generate_series(1, 5) n where id = $1`,
    [app],
  );
  return { app };
}

/** With a schedule that has missed a time. */
export async function scheduledApp(world: World, owner: Person) {
  const { app } = await busyProcess(world, owner);
  const [run, name] = [Bun.randomUUIDv7(), 'nightly'];
  await queryDatabase(
    world.tenant.server,
    `with planned as (
       insert into svc.app_schedules (app_id, tenant_id, name, cron, timezone, command, timeout_seconds, next_at)
       select id, tenant_id, $2, '30 2 * * *', 'UTC', 'true', 60, now() + interval '1 year' from svc.apps where id = $1
       returning app_id, tenant_id)
     insert into svc.app_runs (id, tenant_id, app_id, schedule, due_at, command, timeout_seconds, state, created_at, ended_at)
     select $3, tenant_id, app_id, $2, now(), 'true', 60, 'missed', now(), now() from planned`,
    [app, name, run],
  );
  return { app, name, run };
}

/** A run that waits. */
export async function openRun(world: World, owner: Person) {
  const { app } = await busyProcess(world, owner);
  const run = Bun.randomUUIDv7();
  await queryDatabase(
    world.tenant.server,
    `insert into svc.app_runs (id, tenant_id, app_id, command, timeout_seconds, state, created_at)
     select $2, tenant_id, id, 'true', 60, 'queued', now() from svc.apps where id = $1`,
    [app, run],
  );
  return { app, run };
}

const deployedProcesses = new WeakMap<World, Promise<{ app: string }>>();

/** An app that really runs, one for each world. */
export function deployedProcess(world: World, owner: Person): Promise<{ app: string }> {
  const found = deployedProcesses.get(world) ?? deployProcess(world, owner);
  deployedProcesses.set(world, found);
  return found;
}

async function deployProcess({ tenant }: World, owner: Person): Promise<{ app: string }> {
  const app = await newApp(tenant, { owner }, { deploy_method: 'docker' });
  const upload_id = await uploadSource(app, nodeApp('one'));
  const { id } = await done(owner.call('POST', `${app.base}/deployments`, { upload_id }));
  await until('the app is live', async () => {
    const { state, failure } = await done(owner.call('GET', `${app.base}/deployments/${id}`));
    if (state === 'failed') throw new Error(JSON.stringify(failure));
    return state === 'live';
  });
  return { app: app.id };
}
