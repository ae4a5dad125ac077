import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { sql } from 'kysely';
import type { UserTokens } from '../drivers/git-host/git-host.ts';
import { keepLink } from '../git-connections/keep-link.ts';
import { onLinked } from '../git-connections/on-linked.ts';
import { pollDeviceCode } from '../git-connections/poll-git-link.ts';
import { issueUserToken } from '../git-host/issue-user-token.ts';
import { copyOfServer, loginOf } from '../identity/testing.ts';
import type { Caller, TenantCtx } from '../plumbing/context.ts';
import { type TestDatabase, testDatabase, testMutation } from '../testing.ts';
import type { BootstrapParts } from './bootstrap-parts.ts';
import { noteDenied } from './note-denied.ts';
import { bootstrapRoutes } from './routes.ts';
import {
  type BootstrapPlace,
  type BootstrapWorld,
  bootstrapPlace,
  bootstrapWorld,
  newSlug,
  settleDeployments,
  until,
  withWorker,
} from './testing.ts';

let database: TestDatabase;
let place: BootstrapPlace;
beforeAll(async () => {
  database = await testDatabase();
  place = await bootstrapPlace(database);
});
afterAll(async () => {
  await place.stop();
  await database.close();
});

/** The run when it has ended, carried out by a worker of the test's own. */
const ended = (world: BootstrapWorld, id: string, parts: BootstrapParts = place.parts) =>
  withWorker(parts, () =>
    until('the run ends', async () => {
      const run = await world.look(id);
      return run.ended_at === null ? null : run;
    }),
  );

describe('at a host where accounts are linked', () => {
  /** The built-in one, as if it knew nobody. */
  async function linkedPlace() {
    const grant = {
      ...{ deviceCode: `d-${Bun.randomUUIDv7()}`, userCode: 'ABCD-EFGH', expiresInSeconds: 900 },
      ...{ intervalSeconds: 5, verificationUri: `${place.parts.gitHost.webUrl}/login/device` },
    };
    const gitHost = { ...place.parts.gitHost, isBuiltIn: false, beginDeviceFlow: async () => grant };
    const parts: BootstrapParts = { ...place.parts, gitHost };
    const server = await copyOfServer(database, undefined, bootstrapRoutes(parts));
    const world = await bootstrapWorld(place);
    const path = `${world.base}/bootstraps`;
    return {
      ...{ parts, world, stop: server.stop },
      start: async (slug: string, query = '') =>
        (await server.call(world.login, 'POST', path + query, { template: world.template, slug })).body,
    };
  }

  async function link(
    parts: BootstrapParts,
    { tenant }: BootstrapWorld,
    person: Caller,
    more: Partial<UserTokens> = {},
  ) {
    const who = { tenantId: tenant.id, userId: person.userId };
    const issued = await issueUserToken(database.db, { userId: person.userId, now: new Date() });
    const account = await parts.gitHost.asUser(issued.token).account();
    await testMutation(
      database.db,
      person,
      async (ctx) => {
        await keepLink(ctx, who, { host: parts.gitHost.webUrl, tokens: { ...issued, ...more }, account });
        await onLinked(ctx, who);
      },
      { context: { tenant } },
    );
  }

  test('a run waits for the approval, makes nothing before it, and goes on with the link', async () => {
    const { parts, world, start, stop } = await linkedPlace();
    const slug = newSlug();
    expect(await start(slug, '?dry_run=true')).toMatchObject({ dry_run: true });
    const run = await start(slug);
    expect(run).toMatchObject({ state: 'awaiting_approval', step: 'authorize', app_id: null });
    expect(run.approval).toMatchObject({ user_code: 'ABCD-EFGH', interval_seconds: 5 });
    // Who added the template reads it with an account too.
    for (const person of [world.admin, world.member]) await link(parts, world, person);
    const deployments = settleDeployments(parts, world.tenant.id);
    expect(await ended(world, run.id, parts)).toMatchObject({ state: 'done', slug });
    deployments.stop();
    await stop();
  });

  test('one that nobody approves in time is given up, and its slug is free', async () => {
    const { parts, world, start, stop } = await linkedPlace();
    const slug = newSlug();
    const { id } = await start(slug);
    await sql`update svc.bootstrap_runs set approval_until = now() - interval '1 s' where id = ${id}`.execute(
      database.db,
    );
    expect(await ended(world, id, parts)).toMatchObject({
      ...{ state: 'failed', step: 'authorize', failure: { code: 'device_code_expired' }, undo: [] },
    });
    expect((await start(slug)).state).toBe('awaiting_approval');
    await stop();
  });

  test('one whose code is denied ends at once, and no other', async () => {
    const { parts, world, start, stop } = await linkedPlace();
    const [denied, open] = [await start(newSlug()), await start(newSlug())];
    const who = { tenantId: world.tenant.id, userId: world.member.userId };
    await noteDenied(
      database.db,
      { ...who, userId: world.admin.userId },
      { deviceCode: open.approval.device_code },
    );
    const gitHost = { ...parts.gitHost, pollDeviceFlow: async () => ({ status: 'denied' }) as const };
    const ctx = { tenant: world.tenant, caller: world.member, now: new Date() } as TenantCtx;
    const code = { text: denied.approval.device_code, mode: 'execute' } as const;
    await expect(pollDeviceCode({ ...parts, gitHost }, ctx, code)).rejects.toMatchObject({
      code: 'access_denied',
    });
    expect(await ended(world, denied.id, parts)).toMatchObject({
      ...{ state: 'failed', step: 'authorize', failure: { code: 'access_denied' }, undo: [] },
    });
    expect((await world.look(open.id)).state).toBe('awaiting_approval');
    await stop();
  });

  test('a preview asks nobody and renews nothing; what it does not know it says', async () => {
    const { parts, world, start, stop } = await linkedPlace();
    await link(parts, world, world.member, { expiresAt: new Date(), refreshToken: 'r' });
    const asked = (): never => {
      throw new Error('It was asked.');
    };
    Object.assign(parts.gitHost, {
      ...{ asUser: asked, asInstallation: asked, refresh: asked, installationOfOwner: asked },
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

  test('to start again gives up the code before; another person does not get the slug', async () => {
    const { world, start, stop } = await linkedPlace();
    const slug = newSlug();
    const first = await start(slug);
    const second = await start(slug);
    expect(second.state).toBe('awaiting_approval');
    expect((await world.look(first.id)).state).toBe('canceled');
    const admin = await loginOf(database, world.admin);
    const body = { template: world.template, slug };
    expect(await place.server.call(admin, 'POST', `${world.base}/bootstraps`, body)).toMatchObject({
      body: { code: 'slug_taken' },
    });
    await stop();
  });
});
