import { describe, expect, test } from 'bun:test';
import { sql } from 'kysely';
import type { Caller, TenantCtx } from '../../core/context.ts';
import type { UserTokens } from '../../drivers/git/git-host.ts';
import { loginHeaders, startServerCopy } from '../../identity/provider/testing.ts';
import { testMutation } from '../../testing.ts';
import { storeLink } from '../git-connections/accounts.ts';
import { pollDeviceFlow } from '../git-connections/link-flow.ts';
import { signUserToken } from '../git-host/tokens.ts';
import { bootstrapRoutes } from '../routes.ts';
import type { BootstrapDeps } from './rules.ts';
import { linkEvents, markDenied } from './runs.ts';
import { type BootstrapWorld, newSlug, newWorld, useBootstrap } from './testing.ts';

const { database, env } = useBootstrap();

describe('at a host with linked accounts', () => {
  /** The built-in host, without linked accounts. */
  async function linkedPlace() {
    const grant = {
      deviceCode: `d-${Bun.randomUUIDv7()}`,
      userCode: 'ABCD-EFGH',
      expiresInSeconds: 900,
      intervalSeconds: 5,
      verificationUri: `${env.deps.gitHost.webUrl}/login/device`,
    };
    const gitHost = { ...env.deps.gitHost, isBuiltIn: false, beginDeviceFlow: async () => grant };
    const deps: BootstrapDeps = { ...env.deps, gitHost };
    const server = await startServerCopy(database, undefined, bootstrapRoutes(deps));
    const world = await newWorld(env);
    const path = `${world.base}/bootstraps`;
    return {
      deps,
      world,
      stop: server.stop,
      start: async (slug: string, query = '') =>
        (await server.call(world.login, 'POST', path + query, { template: world.template, slug })).body,
    };
  }

  async function link(
    deps: BootstrapDeps,
    { tenant }: BootstrapWorld,
    person: Caller,
    more: Partial<UserTokens> = {},
  ) {
    const who = { tenantId: tenant.id, userId: person.userId };
    const issued = await signUserToken(database.db, { userId: person.userId, now: new Date() });
    const account = await deps.gitHost.asUser(issued.token).account();
    await testMutation(
      database.db,
      person,
      async (ctx) => {
        await storeLink(ctx, who, { host: deps.gitHost.webUrl, tokens: { ...issued, ...more }, account });
        await linkEvents.linked(ctx, who);
      },
      { context: { tenant } },
    );
  }

  test('a run waits for approval, creates nothing before it, and resumes with the link', async () => {
    const { deps, world, start, stop } = await linkedPlace();
    const slug = newSlug();
    expect(await start(slug, '?dry_run=true')).toMatchObject({ dry_run: true });
    const run = await start(slug);
    expect(run).toMatchObject({ state: 'awaiting_approval', step: 'authorize', app_id: null });
    expect(run.approval).toMatchObject({ user_code: 'ABCD-EFGH', interval_seconds: 5 });
    // The person who added the template reads it with an account too.
    for (const person of [world.admin, world.member]) await link(deps, world, person);
    expect(await world.finish(run.id, { deps })).toMatchObject({ state: 'done', slug });
    await stop();
  });

  test('a run that is not approved in time fails, and its slug is free', async () => {
    const { deps, world, start, stop } = await linkedPlace();
    const slug = newSlug();
    const { id } = await start(slug);
    await sql`update svc.bootstrap_runs set approval_until = now() - interval '1 s' where id = ${id}`.execute(
      database.db,
    );
    expect(await world.finish(id, { deps })).toMatchObject({
      state: 'failed',
      step: 'authorize',
      failure: { code: 'device_code_expired' },
      undo: [],
    });
    expect((await start(slug)).state).toBe('awaiting_approval');
    await stop();
  });

  test('a run whose code is denied fails at once; others do not', async () => {
    const { deps, world, start, stop } = await linkedPlace();
    const [denied, open] = [await start(newSlug()), await start(newSlug())];
    const who = { tenantId: world.tenant.id, userId: world.member.userId };
    await markDenied(
      database.db,
      { ...who, userId: world.admin.userId },
      { deviceCode: open.approval.device_code },
    );
    const gitHost = { ...deps.gitHost, pollDeviceFlow: async () => ({ status: 'denied' }) as const };
    const ctx = { tenant: world.tenant, caller: world.member, now: new Date() } as TenantCtx;
    const code = { text: denied.approval.device_code, mode: 'execute' } as const;
    await expect(pollDeviceFlow({ ...deps, gitHost, linkEvents }, ctx, code)).rejects.toMatchObject({
      code: 'access_denied',
    });
    expect(await world.finish(denied.id, { deps })).toMatchObject({
      state: 'failed',
      step: 'authorize',
      failure: { code: 'access_denied' },
      undo: [],
    });
    expect((await world.look(open.id)).state).toBe('awaiting_approval');
    await stop();
  });

  test('a preview sends no request and renews no token, and warns about what it cannot know', async () => {
    const { deps, world, start, stop } = await linkedPlace();
    await link(deps, world, world.member, { expiresAt: new Date(), refreshToken: 'r' });
    const asked = (): never => {
      throw new Error('It was asked.');
    };
    Object.assign(deps.gitHost, {
      asUser: asked,
      asInstallation: asked,
      refresh: asked,
      installationOfOwner: asked,
    });
    const { plan } = await start(newSlug(), '?dry_run=true');
    expect(plan.warnings).toEqual([expect.stringContaining('git host')]);
    expect(JSON.stringify(plan.changes)).not.toContain('waits_for');
    await sql`update svc.git_links set refresh_sealed = null where user_id = ${world.member.userId}`.execute(
      database.db,
    );
    const later = await start(newSlug(), '?dry_run=true');
    expect(JSON.stringify(later.plan.changes)).toContain('waits_for');
    await stop();
  });

  test('starting again replaces the earlier code; another user does not get the slug', async () => {
    const { world, start, stop } = await linkedPlace();
    const slug = newSlug();
    const first = await start(slug);
    const second = await start(slug);
    expect(second.state).toBe('awaiting_approval');
    expect((await world.look(first.id)).state).toBe('canceled');
    const admin = await loginHeaders(database, world.admin);
    const body = { template: world.template, slug };
    expect(await env.server.call(admin, 'POST', `${world.base}/bootstraps`, body)).toMatchObject({
      body: { code: 'slug_taken' },
    });
    await stop();
  });
});
