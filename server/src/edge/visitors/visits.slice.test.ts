import { describe, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { patientMs } from '../../../../scripts/patience.ts';
import { sha256 } from '../../core/values.ts';
import { rejectPublication } from '../../delivery/review/decisions.ts';
import { until } from '../../delivery/testing.ts';
import { browserHeaders, loginHeaders, msUntilRefused, operator } from '../../identity/provider/testing.ts';
import { deleteModel } from '../../identity/sessions/models-store.ts';
import { setMember } from '../../people/tenants/members.ts';
import { suspendUser } from '../../people/users/users.ts';
import { testMutation } from '../../testing.ts';
import { deleteExpiredVisits } from './store.ts';
import {
  cookieSet,
  newVisitedApp,
  siteRequest,
  stateName,
  textOf,
  useVisitors,
  visitName,
  visitSteps,
  type World,
} from './testing.ts';

const { database, one, other, clock, walk } = useVisitors();

/** A request that the tenant's admins have to decide. */
async function requestReview({ tenant, app, people }: World): Promise<string> {
  const id = Bun.randomUUIDv7();
  await sql`insert into svc.publication_requests (id, tenant_id, app_id, status, visibility, visibility_before, pinned,
      release_id, digest, requested_by, requested_at, expires_at)
    values (${id}, ${tenant.id}, ${app.id}, 'pending', 'internet', 'private', 'live', ${Bun.randomUUIDv7()}, 'x',
      ${people.owner.userId}, now(), now() + interval '1 day')`.execute(database.db);
  return id;
}

const rejectReview = ({ tenant, people }: World, id: string) =>
  testMutation(database.db, people.admin, (ctx) => rejectPublication(ctx, { id, reason: 'no' }), {
    context: { tenant: { id: tenant.id, slug: tenant.slug, name: tenant.slug, role: 'tenant_admin' } },
  });

describe('a visit', () => {
  test('is valid for its own host and app only', async () => {
    const [world, second] = [await newVisitedApp(database), await newVisitedApp(database)];
    const cookie = await walk.visitOf(world, world.people.owner);
    expect(await walk.sees(world, cookie)).toBe(true);
    expect(await walk.sees(second, cookie, `${second.origin}/`)).toBe(false);
    expect(await walk.sees(second, cookie, `${world.origin}/`)).toBe(false);
    expect(await walk.sees(world, cookie, `${world.staging}/`)).toBe(false);
    for (const made of ['', 'x', randomBytes(32).toString('base64url'), `${cookie}x`])
      expect(await walk.sees(world, made)).toBe(false);
    const twice = siteRequest(`${world.origin}/`, {
      headers: { cookie: `${visitName}=${cookie}; ${visitName}=${cookie}` },
    });
    expect(await one.visitors.isVisitor(world.site, twice)).toBe(false);
  });

  test.each([
    ['private', ['owner', 'coOwner'], ['admin', 'member', 'stranger']],
    ['invite_only', ['owner', 'coOwner'], ['admin', 'member', 'stranger']],
    ['public', ['owner', 'coOwner', 'admin', 'member'], ['stranger']],
    ['internet', ['owner', 'coOwner', 'admin', 'member', 'stranger'], []],
  ] as const)('of a site that is %s is allowed for %p, not for %p', async (visibility, yes, no) => {
    const world = await newVisitedApp(database, visibility);
    for (const name of yes)
      expect([name, await walk.sees(world, await walk.visitOf(world, world.people[name]))]).toEqual([
        name,
        true,
      ]);
    for (const name of no)
      expect([name, (await walk.setOut(world, world.people[name])).status]).toEqual([name, 404]);
  });

  test('of a staging host is for owners and, during a review, for tenant admins, whatever the visibility', async () => {
    const world = await newVisitedApp(database, 'internet');
    const page = `${world.staging}/x`;
    const id = await requestReview(world);
    for (const name of ['owner', 'coOwner', 'admin'] as const)
      expect([
        name,
        await walk.sees(world, await walk.visitOf(world, world.people[name], page), page),
      ]).toEqual([name, true]);
    for (const name of ['member', 'stranger'] as const)
      expect([name, (await walk.setOut(world, world.people[name], page)).status]).toEqual([name, 404]);
    await rejectReview(world, id);
    expect((await walk.setOut(world, world.people.admin, page)).status).toBe(404);
  });

  test('of a private app is for tenant admins while they have to review it', async () => {
    const world = await newVisitedApp(database, 'private');
    expect((await walk.setOut(world, world.people.admin)).status).toBe(404);
    const id = await requestReview(world);
    const cookie = await walk.visitOf(world, world.people.admin);
    expect(await walk.sees(world, cookie)).toBe(true);
    expect((await walk.setOut(world, world.people.member)).status).toBe(404);
    await rejectReview(world, id);
    await until(async () => !(await walk.sees(world, cookie)));
  });

  test('of an outsider to an internet site that does not run is refused', async () => {
    const world = await newVisitedApp(database, 'internet');
    const cookie = await walk.visitOf(world, world.people.stranger);
    await sql`update svc.apps set runtime = 'suspended' where id = ${world.app.id}`.execute(database.db);
    expect((await walk.setOut(world, world.people.stranger)).status).toBe(404);
    expect((await walk.setOut(world, world.people.member)).status).toBe(303);
    expect(await walk.sees(world, cookie)).toBe(false);
  });

  test('ends after twelve hours, or with the session if that is sooner', async () => {
    const world = await newVisitedApp(database);
    const { member } = world.people;
    const cookie = await walk.visitOf(world, member);
    const signInEnds = (hours: number) =>
      sql`update svc.oauth_models set expires_at = now() + make_interval(hours => ${hours})
        where user_id = ${member.userId}`.execute(database.db);
    try {
      await signInEnds(24);
      expect(await walk.sees(world, cookie)).toBe(true);
      clock.skewMs = 12 * 3600_000 - 60_000;
      expect(await walk.sees(world, cookie)).toBe(true);
      clock.skewMs = 12 * 3600_000 + 1_000;
      expect(await walk.sees(world, cookie)).toBe(false);
      clock.skewMs = 0;
      const short = await walk.visitOf(world, member);
      await signInEnds(1);
      expect(await walk.sees(world, short)).toBe(true);
      clock.skewMs = 3600_000 + 1_000;
      expect(await walk.sees(world, short)).toBe(false);
      // An extended session extends the visit.
      await signInEnds(24);
      expect(await walk.sees(world, short)).toBe(true);
    } finally {
      clock.skewMs = 0;
    }
  });

  test('allows links from pages of other apps, but no embedding', async () => {
    const world = await newVisitedApp(database);
    const cookie = await walk.visitOf(world, world.people.member);
    const from = (site: string, mode: string, dest: string) =>
      one.visitors.isVisitor(
        world.site,
        siteRequest(`${world.origin}/data.js`, {
          cookies: { [visitName]: cookie },
          headers: { 'sec-fetch-site': site, 'sec-fetch-mode': mode, 'sec-fetch-dest': dest },
        }),
      );
    expect(await from('same-origin', 'cors', 'empty')).toBe(true);
    expect(await from('same-origin', 'no-cors', 'script')).toBe(true);
    expect(await from('same-origin', 'navigate', 'iframe')).toBe(true);
    expect(await from('none', 'navigate', 'document')).toBe(true);
    for (const site of ['same-site', 'cross-site']) {
      expect(await from(site, 'navigate', 'document')).toBe(true);
      for (const mode of ['no-cors', 'cors', 'websocket'])
        expect([mode, await from(site, mode, 'script')]).toEqual([mode, false]);
      for (const dest of ['iframe', 'frame', 'object', 'embed'])
        expect([dest, await from(site, 'navigate', dest)]).toEqual([dest, false]);
    }
  });

  const endings: Record<string, (world: World, browser: Record<string, string>) => Promise<unknown>> = {
    'the person is suspended': ({ people }) =>
      testMutation(database.db, operator, (ctx) => suspendUser(ctx, { userId: people.coOwner.userId })),
    'the person leaves the tenant': ({ tenant, people }) =>
      testMutation(
        database.db,
        operator,
        (ctx) => setMember(ctx, { tenantId: tenant.id, userId: people.coOwner.userId, role: 'none' }),
        { auditTenantId: tenant.id },
      ),
    'the person is removed from the app': async ({ tenant, app, people }) =>
      one.api.call(
        await loginHeaders(database, people.owner),
        'DELETE',
        `/api/v1/tenants/${tenant.slug}/apps/${app.slug}/co-owners/${people.coOwner.userId}`,
      ),
    'the sign-in it came from is ended': async ({ people }, browser) => {
      const { body } = await one.api.call(browser, 'GET', '/api/v1/me/sessions');
      const { id } = body.items.find((item: { current: boolean }) => item.current);
      return one.api.call(
        await loginHeaders(database, people.coOwner),
        'DELETE',
        `/api/v1/me/sessions/${id}`,
      );
    },
    'the person signs out of the platform in that browser': (_, browser) =>
      deleteModel(database, {
        kind: 'Session',
        idHash: sha256(browser.cookie!.replace('svc_session=', '')),
      }),
  };
  test.each(Object.keys(endings))(
    'ends within a second in every copy of the server when %s',
    async (name) => {
      const world = await newVisitedApp(database, 'private');
      const { coOwner } = world.people;
      const browser = await browserHeaders(database, coOwner);
      const state = randomBytes(32).toString('base64url');
      const { location } = await one.ask(browser, { target: `${world.origin}/`, state });
      const cookie = cookieSet(await walk.arrive(location, { [stateName]: state })).value;
      const questions = [one, other].map((copy) => () => visitSteps(copy).sees(world, cookie));
      expect(await Promise.all(questions.map((ask) => ask()))).toEqual([true, true]);
      await endings[name]!(world, browser);
      expect(await msUntilRefused(questions)).toBeLessThan(patientMs(1_000));
    },
  );

  test('ends when the visibility no longer includes the person', async () => {
    const world = await newVisitedApp(database, 'public');
    const cookie = await walk.visitOf(world, world.people.member);
    const questions = [one, other].map((copy) => () => visitSteps(copy).sees(world, cookie));
    expect(await Promise.all(questions.map((ask) => ask()))).toEqual([true, true]);
    const narrowed = await one.api.call(
      await loginHeaders(database, world.people.owner),
      'PATCH',
      `/api/v1/tenants/${world.tenant.slug}/apps/${world.app.slug}`,
      { visibility: 'private' },
    );
    expect(narrowed.status).toBe(200);
    expect(await msUntilRefused(questions)).toBeLessThan(patientMs(1_000));
    expect((await walk.setOut(world, world.people.member)).status).toBe(404);
  });

  test('is ended by the site itself only, in every copy, and the cookie is cleared', async () => {
    const world = await newVisitedApp(database);
    const cookie = await walk.visitOf(world, world.people.member);
    const questions = [one, other].map((copy) => () => visitSteps(copy).sees(world, cookie));
    expect(await Promise.all(questions.map((ask) => ask()))).toEqual([true, true]);
    const leave = async (headers: Record<string, string>, method = 'POST') =>
      (await one.visitors.platformPath(
        world.site,
        siteRequest(`${world.origin}/.svc/logout`, {
          method,
          headers: { cookie: `${visitName}=${cookie}`, ...headers },
        }),
      ))!;
    expect((await leave({}, 'GET')).status).toBe(405);
    const elsewhere: Record<string, string>[] = [
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'cross-site' },
      { origin: 'http://x.apps.localhost' },
    ];
    for (const headers of elsewhere) expect((await leave(headers)).status).toBe(403);
    expect(await walk.sees(world, cookie)).toBe(true);
    const left = await leave({ 'sec-fetch-site': 'same-origin', origin: world.origin });
    expect([left.status, cookieSet(left).attributes.slice(0, 10)]).toEqual([200, 'Max-Age=0;']);
    expect(textOf(left)).toContain('class="mark good"');
    expect(await msUntilRefused(questions)).toBeLessThan(patientMs(1_000));
  });

  test('replaces the previous one, which ends within a second in every copy', async () => {
    const world = await newVisitedApp(database);
    const first = await walk.visitOf(world, world.people.member);
    const questions = [one, other].map((copy) => () => visitSteps(copy).sees(world, first));
    expect(await Promise.all(questions.map((ask) => ask()))).toEqual([true, true]);
    const { location, state } = await walk.setOut(world, world.people.owner);
    const next = cookieSet(await walk.arrive(location, { [stateName]: state, [visitName]: first })).value;
    expect(await msUntilRefused(questions)).toBeLessThan(patientMs(1_000));
    expect(await walk.sees(world, next)).toBe(true);
  });

  test('is deleted once expired, and so are codes', async () => {
    const world = await newVisitedApp(database);
    await walk.visitOf(world, world.people.member);
    const cached = await walk.visitOf(world, world.people.owner);
    await walk.setOut(world, world.people.member);
    await sql`update svc.site_visits set expires_at = now() - interval '1 second'
      where app_id = ${world.app.id} and user_id = ${world.people.member.userId}`.execute(database.db);
    await sql`update svc.site_codes set expires_at = now() - interval '1 second'
      where app_id = ${world.app.id}`.execute(database.db);
    await deleteExpiredVisits(database.db);
    const { rows } = await sql<{ visits: string[]; codes: number }>`select
      array(select token_hash from svc.site_visits where app_id = ${world.app.id}) as visits,
      (select count(*) from svc.site_codes where app_id = ${world.app.id}) as codes`.execute(database.db);
    expect(rows).toEqual([{ visits: [sha256(cached)], codes: 0 }]);
  });
});
