import { describe, expect, test } from 'bun:test';
import { sql } from 'kysely';
import { fail } from '../../core/problem.ts';
import { GitError } from '../../drivers/git/run-git.ts';
import { loginHeaders } from '../../identity/provider/testing.ts';
import { newUser } from '../../testing.ts';
import { hookChecksMax } from './rules.ts';
import { loadCreator } from './step.ts';
import { connect } from './steps.ts';
import { findRun } from './store.ts';
import {
  type BootstrapWorld,
  countCreated,
  newRepository,
  newSlug,
  newWorld,
  useBootstrap,
  type Watch,
  watchCalls,
} from './testing.ts';

const { database, env } = useBootstrap();

const stateOf = (run: { steps: { name: string; state: string }[] }) =>
  Object.fromEntries(run.steps.map(({ name, state }) => [name, state]));

describe('a run', () => {
  test('creates the app at once, then its repository, the connection and the first deployment', async () => {
    const world = await newWorld(env);
    const slug = newSlug();
    const started = await world.start({ slug, name: 'Hello' });
    expect(started).toMatchObject({ state: 'running', step: 'create_repo', approval: null, repo: null });
    expect(stateOf(started)).toMatchObject({
      authorize: 'done',
      reserve_app: 'done',
      create_repo: 'waiting',
    });
    const run = await world.finish(started.id);
    expect(run).toMatchObject({ state: 'done', step: null, failure: null, undo: [], slug });
    expect(new Set(Object.values(stateOf(run)))).toEqual(new Set(['done']));
    expect(run).toMatchObject({ repo: `${world.tenant.slug}/${slug}`, template_id: world.template });
    expect(run.url).toStartWith(`http://${slug}.apps.example.test`);
    expect(run.clone_url).toBe(`${env.deps.baseUrl}/git/${world.tenant.slug}/${slug}.git`);
    const { body: app } = await env.server.call(world.login, 'GET', `${world.base}/apps/${slug}`);
    expect(app).toMatchObject({ id: run.app_id, name: 'Hello', owner_id: world.member.userId });
    expect(app.deploy_method).toBe('static');
    const things = await countCreated(env.deps, world, slug);
    expect(things).toEqual({ apps: 1, repositories: 1, connections: 1, hooks: 1, deployments: 1 });
    const { owner, name } = { owner: world.tenant.slug, name: slug };
    const head = await env.deps.gitHost
      .asInstallation(await world.installation())
      .commit({ owner, name }, 'main');
    expect(head).toMatchObject({ sha: run.commit, message: 'Begin with A page' });
  });

  test('is visible only to its creator, the owners of its app and admins', async () => {
    const world = await newWorld(env);
    const { id, app_id } = await world.start();
    const look = async (userId: string) => {
      const login = await loginHeaders(database, { userId });
      return (await env.server.call(login, 'GET', `${world.base}/bootstraps/${id}`)).status;
    };
    const other = await newUser(database.db, world.tenant.id);
    expect(await look(world.admin.userId)).toBe(200);
    expect(await look(other.userId)).toBe(404);
    await sql`insert into svc.app_co_owners (app_id, user_id, added_by, created_at)
      values (${app_id}, ${other.userId}, ${other.userId}, now())`.execute(database.db);
    expect(await look(other.userId)).toBe(200);
  });

  test('reserves its slug: a second run and a preview are rejected', async () => {
    const world = await newWorld(env);
    const body = { template: world.template, slug: newSlug() };
    const start = (query: string) =>
      env.server.call(world.login, 'POST', `${world.base}/bootstraps${query}`, body);
    const previewed = await start('?dry_run=true');
    expect(previewed).toMatchObject({ status: 200, body: { dry_run: true } });
    const paths = previewed.body.plan.changes.map(({ path }: { path: string }) => path);
    for (const word of ['slug', 'repository', 'connection', 'deployment'])
      expect(paths.some((path: string) => path.includes(word))).toBe(true);
    expect(await countCreated(env.deps, world, body.slug)).toEqual({
      apps: 0,
      repositories: 0,
      connections: 0,
      hooks: 0,
      deployments: 0,
    });
    expect((await start('')).status).toBe(201);
    for (const query of ['', '?dry_run=true'])
      expect(await start(query)).toMatchObject({ status: 409, body: { code: 'slug_taken' } });
  });

  test('with the same idempotency key is the same run', async () => {
    const world = await newWorld(env);
    const body = { template: world.template, slug: newSlug() };
    const headers = { ...world.login, 'idempotency-key': Bun.randomUUIDv7() };
    const start = () => env.server.call(headers, 'POST', `${world.base}/bootstraps`, body);
    const first = await start();
    expect(first.status).toBe(201);
    expect(await start()).toEqual(first);
  });

  test('from a built-in template starts with its files and tables', async () => {
    const world = await newWorld(env);
    const { id } = await world.start({ template: 'react' });
    const run = await world.finish(id);
    expect(run).toMatchObject({ state: 'done', template_id: '019a8000-0000-7000-8000-000000000001' });
    const [owner = '', name = ''] = run.repo.split('/');
    const repo = { owner, name };
    const reader = env.deps.gitHost.asInstallation(await world.installation());
    const file = { path: 'package.json', ref: 'main', bytesMax: 100_000 };
    expect(await reader.readFile(repo, file)).toContain(run.slug);
    const { rows } = await sql<{ tables: number }>`
      select count(*) as tables from svc.app_tables where app_id = ${run.app_id}`.execute(database.db);
    expect(rows[0]?.tables).toBeGreaterThan(0);
  });

  test('is rejected if the template does not exist or the repository does', async () => {
    const world = await newWorld(env);
    const start = (body: Record<string, unknown>) =>
      env.server.call(world.login, 'POST', `${world.base}/bootstraps`, { slug: newSlug(), ...body });
    for (const template of ['nothing', Bun.randomUUIDv7()])
      expect(await start({ template })).toMatchObject({ status: 404, body: { code: 'not_found' } });
    const { name } = await newRepository(env.deps, { ...world, person: world.admin, files: { a: 'a' } });
    const { template } = world;
    expect(await start({ template, repo_name: name })).toMatchObject({ body: { code: 'repo_exists' } });
    expect(await start({ template, installation_id: 999_999 })).toMatchObject({
      status: 409,
      body: { code: 'installation_missing' },
    });
    const elsewhere = await newWorld(env);
    expect(await start({ template, installation_id: await elsewhere.installation() })).toMatchObject({
      status: 422,
      body: { code: 'installation_mismatch' },
    });
    expect(await start({ template, git_host_owner: elsewhere.tenant.slug })).toMatchObject({
      body: { code: 'installation_mismatch' },
    });
  });
});

describe('failures', () => {
  const throwing = (call: Parameters<Watch>[0], error: () => unknown) =>
    watchCalls(env.deps, (name, when) => {
      if (name === call && when === 'before') throw error();
    });
  const away = () => fail('git_host_unavailable', { detail: 'It is away.' });

  test('a git host that is unavailable for a while is retried', async () => {
    const world = await newWorld(env);
    const { id, slug } = await world.start();
    let left = 3;
    const deps = watchCalls(env.deps, (name, when, [wanted]) => {
      if (name !== 'createRepository' || when !== 'before') return;
      if ((wanted as { name: string }).name === slug && left-- > 0) throw away();
    });
    const run = await world.finish(id, { deps });
    expect(run.state).toBe('done');
    expect(run.steps[2]).toMatchObject({ name: 'create_repo', attempts: 4 });
  });

  test('a git host that stays unavailable ends the run after five attempts, and the run lists what it created', async () => {
    const world = await newWorld(env);
    const { id, slug } = await world.start();
    const deps = throwing('pushFirst', () => new GitError('unreachable', 'Gone.'));
    const run = await world.finish(id, { deps });
    expect(run).toMatchObject({
      state: 'failed',
      step: 'seed_repo',
      failure: { code: 'git_host_unavailable', detail: 'Gone.' },
    });
    expect(run.steps[3].attempts).toBe(5);
    expect(run.undo).toHaveLength(2);
    expect(await countCreated(env.deps, world, slug)).toMatchObject({
      apps: 1,
      repositories: 1,
      deployments: 0,
    });
  });

  test('a rejected push, a missing template and a refusal of the host are final', async () => {
    const world = await newWorld(env);
    const refused = await world.start();
    const push = throwing('pushFirst', () => new GitError('refused', 'protected branch'));
    expect(await world.finish(refused.id, { deps: push })).toMatchObject({
      failure: { code: 'push_rejected', detail: 'protected branch' },
    });
    const unreadable = await world.start();
    const checkOut = throwing('checkOut', () => new GitError('not_found', 'no such ref'));
    expect(await world.finish(unreadable.id, { deps: checkOut })).toMatchObject({
      failure: { code: 'template_unavailable' },
    });
    const gone = await world.start();
    await sql`delete from svc.templates where id = ${world.template}`.execute(database.db);
    expect(await world.finish(gone.id)).toMatchObject({ failure: { code: 'template_unavailable' } });
    // A failed run can be started again only under another name; nothing was removed.
    expect(await countCreated(env.deps, world, gone.slug)).toMatchObject({ apps: 1, repositories: 1 });
  });

  test('a template is not readable once the user who added it cannot read it', async () => {
    const world = await newWorld(env);
    const { id } = await world.start();
    await sql`update svc.templates set added_by = ${world.member.userId} where id = ${world.template}`.execute(
      database.db,
    );
    expect(await world.finish(id)).toMatchObject({
      state: 'failed',
      step: 'seed_repo',
      failure: { code: 'template_unavailable' },
    });
  });

  test('waiting for a hook counts checks, not the downtime of the server', async () => {
    const world = await newWorld(env);
    const { id, app_id: appId } = await world.start();
    await sql`insert into svc.git_connections (app_id, tenant_id, host, repo_id, repo, branch, is_private,
        installation_id, web_url, clone_url, hook_state, hook_detail, connected_by, connected_at)
      values (${appId}, ${world.tenant.id}, 'h', 1, 'o/r', 'main', true, 1, '', '', 'waiting', '',
        ${world.member.userId}, now())`.execute(database.db);
    const look = async (looks: number) => {
      await sql`update svc.bootstrap_steps set state = 'running', started_at = now() - interval '1 h',
          output = ${JSON.stringify({ isConnected: true, looks })}
        where run_id = ${id} and name = 'connect'`.execute(database.db);
      const run = await findRun(database.db, world.tenant.id, id);
      if (!run) throw new Error('The run is gone.');
      const creator = await loadCreator(database.db, run);
      const signal = new AbortController().signal;
      const finish = await connect({ deps: env.deps, run, creator, signal });
      return finish({} as Parameters<typeof finish>[0]);
    };
    expect(await look(0)).toMatchObject({ state: 'running', output: { isConnected: true, looks: 1 } });
    await expect(look(hookChecksMax - 1)).rejects.toThrow('created no webhook');
    // No worker may resume the run.
    await sql`update svc.bootstrap_runs set state = 'canceled', ended_at = now() where id = ${id}`.execute(
      database.db,
    );
  });

  test('a repository that someone else creates first is not used', async () => {
    const world = await newWorld(env);
    const started = await world.start();
    let isMade = false;
    const deps = watchCalls(env.deps, async (name, when) => {
      if (name !== 'createRepository' || when !== 'before' || isMade) return;
      isMade = true;
      const wanted = { ...world, person: world.admin, name: started.slug, files: { a: 'a' } };
      await newRepository(env.deps, wanted);
    });
    const run = await world.finish(started.id, { deps });
    expect(run).toMatchObject({ failure: { code: 'repo_exists' }, step: 'create_repo', repo: null });
    expect(run.undo).toEqual([`svc apps delete ${started.slug} --tenant ${world.tenant.slug} --execute`]);
  });

  test('a run ends when its creator is suspended', async () => {
    const world = await newWorld(env);
    const { id, slug } = await world.start();
    const deps = watchCalls(env.deps, async (name, when) => {
      if (name !== 'createRepository' || when !== 'after') return;
      await sql`update svc.users set status = 'suspended' where id = ${world.member.userId}`.execute(
        database.db,
      );
    });
    const run = await world.finish(id, { deps });
    expect(run).toMatchObject({ state: 'failed', failure: { code: 'not_permitted' }, step: 'create_repo' });
    expect(await countCreated(env.deps, world, slug)).toMatchObject({ connections: 0, deployments: 0 });
  });

  test('a run ends when its app is deleted', async () => {
    const world = await newWorld(env);
    const { id, app_id } = await world.start();
    const deps = watchCalls(env.deps, async (name, when) => {
      if (name === 'pushFirst' && when === 'after')
        await env.server.call(world.login, 'DELETE', `${world.base}/apps/${app_id}`);
    });
    const run = await world.finish(id, { deps });
    expect(run).toMatchObject({ failure: { code: 'app_not_active' }, step: 'connect' });
  });

  test.each([
    ['build_failed', 'build_failed'],
    ['health_check_failed', 'health_check_failed'],
    ['lost', 'deploy_failed'],
  ])('a deployment that fails with %s ends the run with %s', async (code, expected) => {
    const world = await newWorld(env);
    const { id } = await world.start();
    const run = await world.finish(id, { failure: code });
    expect(run).toMatchObject({
      state: 'failed',
      step: 'first_deploy',
      failure: { code: expected, detail: 'It did not work.' },
    });
  });
});

describe('canceling', () => {
  const cancel = (world: BootstrapWorld, id: string, login = world.login) =>
    env.server.call(login, 'POST', `${world.base}/bootstraps/${id}/cancel`);

  test('ends a run that no worker has at once, is idempotent, and is only for the creator', async () => {
    const world = await newWorld(env);
    const { id } = await world.start();
    const admin = await loginHeaders(database, world.admin);
    expect((await cancel(world, id, admin)).status).toBe(404);
    const canceled = await cancel(world, id);
    expect(canceled.body).toMatchObject({ state: 'canceled', step: null });
    expect(canceled.body.undo).toHaveLength(1);
    expect(await cancel(world, id)).toMatchObject({ status: 200, body: { changed: false } });
    expect((await world.finish(id)).state).toBe('canceled');
  });

  test('lets the running step finish and starts no other', async () => {
    const world = await newWorld(env);
    const { id, slug } = await world.start();
    const deps = watchCalls(env.deps, async (name, when) => {
      if (name === 'createRepository' && when === 'after')
        expect((await cancel(world, id)).body.state).toBe('running');
    });
    const run = await world.finish(id, { deps });
    expect(run.state).toBe('canceled');
    expect(stateOf(run)).toMatchObject({ create_repo: 'done', seed_repo: 'waiting' });
    expect(await countCreated(env.deps, world, slug)).toMatchObject({ apps: 1, repositories: 1 });
  });

  test('resets a running step that no worker has, and does not cancel a run that has ended', async () => {
    const world = await newWorld(env);
    const { id } = await world.start();
    await sql`update svc.bootstrap_steps set state = 'running', output = '{}'
      where run_id = ${id} and name = 'first_deploy'`.execute(database.db);
    expect(stateOf((await cancel(world, id)).body)).toMatchObject({ first_deploy: 'waiting' });
    const other = await world.start();
    await sql`update svc.bootstrap_runs set state = 'done', cancel_asked = true, ended_at = now()
      where id = ${other.id}`.execute(database.db);
    expect(await cancel(world, other.id)).toMatchObject({ body: { code: 'invalid_state_transition' } });
  });

  test('is rejected for a run that has ended', async () => {
    const world = await newWorld(env);
    const { id } = await world.start();
    expect((await world.finish(id)).state).toBe('done');
    expect(await cancel(world, id)).toMatchObject({
      status: 409,
      body: { code: 'invalid_state_transition' },
    });
  });
});
