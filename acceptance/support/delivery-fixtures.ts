import { randomBytes } from 'node:crypto';
import { insertPreview, nodeApp, uploadSource } from './apps.ts';
import { queryDatabase } from './database.ts';
import { liveProcess, post, privateApp } from './fixtures.ts';
import { newEmptyRepository, newPageTemplate, pageRepository } from './git.ts';
import { done, newApp, type Person, uniqueName } from './people.ts';
import { until } from './until.ts';
import type { World } from './world.ts';

/** The built-in git host creates a person's installation when it is first listed. */
export async function installation({ tenant }: World, owner: Person) {
  const { items } = await done(owner.call('GET', `${tenant.base}/git-host/installations`));
  const own = items.find(({ account }: { account: string }) => account === tenant.slug);
  return { installation: String(own.id) };
}

export async function emptyRepository(world: World, owner: Person) {
  return { repo: await newEmptyRepository(world.tenant, owner), ...(await installation(world, owner)) };
}

export const pageRepo = async ({ tenant }: World, owner: Person) => ({
  repo: await pageRepository(tenant, owner),
});

export async function connectedApp(world: World, owner: Person) {
  const { app } = await privateApp(world, owner);
  const { repo } = await emptyRepository(world, owner);
  await post(world, owner, `apps/${app}/git`, { repo });
  return { app };
}

/** A connection of an app that the git host has yet to complete. */
export async function pendingConnection(world: World, owner: Person) {
  const { app } = await privateApp(world, owner);
  const { repo } = await emptyRepository(world, owner);
  return { state: String((await post(world, owner, `apps/${app}/git/begin`, { repo })).state) };
}

export const deviceCode = async (world: World, owner: Person) => ({
  code: String((await post(world, owner, 'git-host/link')).device_code),
});

/** A linked account of another git host, which otherwise only a browser could link. */
export async function gitAccount({ tenant }: World, owner: Person) {
  const id = Bun.randomUUIDv7();
  await queryDatabase(
    tenant.server,
    `insert into svc.git_links (id, tenant_id, user_id, host, account_id, login, kind, token_sealed, linked_at)
     values ($1, $2, $3, $4, 1, 'octocat', 'user', $5, now())`,
    [id, tenant.id, owner.id, `https://git.example/${id}`, randomBytes(60)],
  );
  return { account: id };
}

/** Calls `create` once for each world. */
function oncePerWorld<T>(create: (world: World, owner: Person) => Promise<T>) {
  const created = new WeakMap<World, Promise<T>>();
  return (world: World, owner: Person): Promise<T> => {
    const found = created.get(world) ?? create(world, owner);
    created.set(world, found);
    return found;
  };
}

/** Its repository takes a while to create. */
export const sharedTemplate = oncePerWorld(async ({ tenant }) => ({
  template: await newPageTemplate(tenant),
}));

export async function bootstrapRun(world: World, owner: Person) {
  const body = { ...(await sharedTemplate(world, owner)), slug: uniqueName('b') };
  const { id, app_id } = await post(world, owner, 'bootstraps', body);
  return { run: id as string, newApp: app_id as string };
}

/** It waits for an approval, as with another git host, and does not end by itself. */
export async function waitingRun({ tenant }: World, owner: Person) {
  const run = Bun.randomUUIDv7();
  const text = `with run as (
      insert into svc.bootstrap_runs
        (id, tenant_id, kind, state, input, input_hash, slug, approval_until, created_by, created_at)
      values ($1, $2, 'bootstrap', 'awaiting_approval', '{}', '', $3, now() + interval '1 hour', $4, now())
      returning id)
    insert into svc.bootstrap_steps (run_id, name, state)
    select run.id, step, 'waiting' from run, unnest(array['authorize', 'reserve_app', 'create_repo', 'seed_repo',
      'connect', 'first_deploy']) step`;
  await queryDatabase(tenant.server, text, [run, tenant.id, uniqueName('waits'), owner.id]);
  return { run };
}

export async function preview(world: World, owner: Person) {
  const { app } = await connectedApp(world, owner);
  await insertPreview(world.tenant.server, app);
  return { app, preview: 'feature' };
}

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

/** An app that really runs. */
export const deployedProcess = oncePerWorld(async ({ tenant }, owner) => {
  const app = await newApp(tenant, { owner }, { deploy_method: 'docker' });
  const upload_id = await uploadSource(app, nodeApp('one'));
  const { id } = await done(owner.call('POST', `${app.base}/deployments`, { upload_id }));
  await until('the app is live', async () => {
    const { state, failure } = await done(owner.call('GET', `${app.base}/deployments/${id}`));
    if (state === 'failed') throw new Error(JSON.stringify(failure));
    return state === 'live';
  });
  return { app: app.id };
});
