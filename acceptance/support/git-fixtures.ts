import { randomBytes } from 'node:crypto';
import { insertPreview } from './apps.ts';
import { queryDatabase } from './database.ts';
import { post, privateApp } from './fixtures.ts';
import { newEmptyRepository, newPageTemplate, pageRepository } from './git.ts';
import { done, type Person, uniqueName } from './people.ts';
import type { World } from './world.ts';

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
export async function begunConnection(world: World, owner: Person) {
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

const templates = new WeakMap<World, Promise<string>>();

/** One per world: its repository takes a while to create. */
export async function sharedTemplate(world: World) {
  const found = templates.get(world) ?? newPageTemplate(world.tenant);
  templates.set(world, found);
  return { template: await found };
}

export async function bootstrapRun(world: World, owner: Person) {
  const body = { ...(await sharedTemplate(world)), slug: uniqueName('b') };
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
