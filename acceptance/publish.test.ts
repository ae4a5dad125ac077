import { describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { patientMs } from '../scripts/patience.ts';
import { useFixture } from '../scripts/use-fixture.ts';
import { jsonOutput, type Svc, svcAs, svcFor } from './support/commands.ts';
import { type Answered, done, newMember, newPerson, newTenant } from './support/people.ts';
import { temporaryFolder } from './support/server.ts';
import { askSite, newRelease, newSite, type SiteGround, visitorCookie } from './support/sites.ts';
import { until } from './support/until.ts';

const asPage = { headers: { accept: 'text/html' } };
const page = (text: string) => ({ 'index.html': `<h1>${text}</h1>` });
const summary = ({ status, body }: Answered) => (status < 400 ? String(status) : `${status} ${body.code}`);

const tenant = useFixture(newTenant);
const otherAdmin = useFixture(() => newPerson(tenant.server, { tenant: tenant.id, role: 'tenant_admin' }));
const admins = svcAs(() => [tenant, tenant.admin]);

interface Shown extends SiteGround {
  svc: Svc;
  release: string;
}

/** A private site; `svc` as its owner. */
async function shownSite(): Promise<Shown> {
  // An owner of its own: the number of requests per person and minute is limited.
  const member = await newPerson(tenant.server, { tenant: tenant.id, role: 'tenant_member' });
  const site = await newSite(undefined, { ...tenant, member });
  const { id } = await newRelease(site, page('One'), { on_finalize: 'deploy' });
  const svc = svcFor(tenant.server, { token: site.owner.token, tenant: tenant.slug });
  return { ...site, svc, release: id };
}

const ask = (site: SiteGround, visibility: string, more: object = {}, by = site.owner) =>
  by.call('POST', `${tenant.base}/apps/${site.app.id}/publication-requests`, { visibility, ...more });
const decide = (id: string, move: string, body?: object, by = tenant.admin) =>
  by.call('POST', `${tenant.base}/publication-requests/${id}/${move}`, body);
const appOf = async (site: SiteGround) => done(site.owner.call('GET', `${tenant.base}/apps/${site.app.id}`));

describe('publishing an app', () => {
  test('is requested by its owner, approved by an admin, and open to visitors within a second', async () => {
    const site = await shownSite();
    expect((await askSite(site, '/', asPage)).status).toBe(303);
    const line = ['publish', '--app', site.app.slug, '--visibility', 'internet', '--note', 'for the fair'];
    const preview = await site.svc(line);
    expect([preview.code, preview.stdout.includes('internet')]).toEqual([0, true]);
    expect((await appOf(site)).review_status).toBe('none');

    const asked = await site.svc([...line, '--execute', '--json']);
    expect([asked.code, asked.stderr.includes('svc review approve')]).toEqual([0, true]);
    const { id, status, pinned, release_id } = asked.json<Record<string, string>>();
    expect([status, pinned, release_id]).toEqual(['pending', 'live', site.release]);
    expect(await appOf(site)).toMatchObject({ visibility: 'private', review_status: 'pending' });
    expect((await askSite(site, '/', asPage)).status).toBe(303);

    const list = await admins(['review', 'list', '--app', site.app.slug, '--json']);
    expect(list.json<{ items: { id: string }[] }>().items.map((item) => item.id)).toEqual([id!]);
    const shown = await admins(['review', 'approve', id!]);
    expect([shown.code, shown.stdout.includes('visibility')]).toEqual([0, true]);
    const approved = await admins(['review', 'approve', id!, '--note', 'fine', '--execute', '--json']);
    expect([approved.code, approved.json().status, approved.json().reason]).toEqual([0, 'approved', 'fine']);
    const began = Date.now();
    await until('visitors see it', async () => (await askSite(site, '/', asPage)).status === 200);
    expect(Date.now() - began).toBeLessThan(patientMs(1_000));
    expect(await appOf(site)).toMatchObject({
      visibility: 'internet',
      review_status: 'approved',
      operating_status: 'live',
    });

    const again = await admins(['review', 'approve', id!, '--execute', '--json']);
    expect([again.code, again.json().changed]).toEqual([0, false]);
    const history = await site.svc(['review', 'history', '--app', site.app.slug, '--json']);
    expect(history.json<{ items: { status: string }[]; per_page: number }>()).toMatchObject({
      items: [{ status: 'approved' }],
      per_page: 20,
    });
    const settled = await admins(['review', 'history', '--json']);
    expect(settled.json<{ items: { id: string }[] }>().items.map((item) => item.id)).toContain(id!);
    expect((await site.svc(['review', 'history'])).code).toBe(4);
  });

  test('reads the app from svc.yaml, and the visibility only from the command line', async () => {
    const site = await shownSite();
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, 'svc.yaml'), `name: A site\napp:\n  slug: ${site.app.slug}\n`);
    expect((await site.svc(['publish'], { cwd })).code).toBe(2);
    expect((await site.svc(['publish', '--visibility', 'private'], { cwd })).code).toBe(2);
    const asked = await site.svc(['publish', '--visibility', 'public', '--execute', '--json'], { cwd });
    expect([asked.code, asked.json().app_slug]).toEqual([0, site.app.slug]);
    const again = await site.svc(['publish', '--visibility', 'public', '--execute', '--json'], { cwd });
    expect([again.code, again.json().id, again.json().changed]).toEqual([0, asked.json().id, false]);
  });

  test('is rejected with a reason that its owners read, also with the older flags', async () => {
    const site = await shownSite();
    const { id } = (await ask(site, 'public')).body;
    expect((await admins(['review', 'reject', id, '--execute'])).code).toBe(2);
    const both = await admins(['review', 'reject', id, '--request_id', id, '--reason', 'no', '--execute']);
    expect(both.code).toBe(2);
    expect((await admins(['review', 'reject', '--reason', 'no', '--execute'])).code).toBe(2);
    const line = ['review', 'reject', '--request_id', id, '--reason', 'the prices', '--execute', '--json'];
    expect((await admins(line)).json().status).toBe('rejected');
    const read = await site.svc(['review', 'get', id, '--json']);
    expect(read.json()).toMatchObject({ status: 'rejected', reason: 'the prices' });
    expect((await appOf(site)).review_status).toBe('rejected');
  });

  test('ends with the exit code and the next step of each refusal', async () => {
    const site = await shownSite();
    const { slug } = site.app;
    const publish = (...more: string[]) =>
      site.svc(['publish', '--app', slug, ...more, '--execute', '--json']);
    const refused = async (ran: ReturnType<Svc>, code: string, exit: number) => {
      const { code: exited, stderr } = await ran;
      expect([code, exited, stderr.includes(`"${code}"`)]).toEqual([code, exit, true]);
    };
    const bare = await newSite(undefined, site.tenant);
    const bareLine = ['publish', '--app', bare.app.slug, '--visibility', 'public', '--execute', '--json'];
    await refused(site.svc(bareLine), 'nothing_deployed', 6);
    const other = Bun.randomUUIDv7();
    await refused(publish('--visibility', 'public', '--deployment-id', other), 'stale_deployment', 6);
    const { id } = (await ask(site, 'public')).body;
    await refused(publish('--visibility', 'internet'), 'request_open', 6);
    await refused(site.svc(['review', 'approve', id, '--execute', '--json']), 'forbidden', 4);
    await refused(
      site.svc(['review', 'reject', id, '--reason', 'x', '--execute', '--json']),
      'self_review',
      4,
    );
    await newRelease(site, page('Two'), { on_finalize: 'deploy' });
    await refused(admins(['review', 'approve', id, '--execute', '--json']), 'stale_deployment', 6);
    await refused(admins(['review', 'reject', id, '--reason', 'x', '--execute', '--json']), 'settled', 6);
    await refused(site.svc(['review', 'get', other, '--json']), 'not_found', 5);
    const next = (await ask(site, 'public')).body.id;
    expect((await site.svc(['review', 'withdraw', next, '--execute'])).code).toBe(0);
    await refused(admins(['review', 'approve', next, '--execute', '--json']), 'settled', 6);
    await decide((await ask(site, 'public')).body.id, 'approve');
    await refused(publish('--visibility', 'invite_only'), 'not_wider', 6);
  });
});

describe('who decides', () => {
  test('is an admin who did not request it; the requester can only withdraw it', async () => {
    const site = await shownSite();
    const owners = `${tenant.base}/apps/${site.app.id}/co-owners`;
    await done(site.owner.call('POST', owners, { user_id: otherAdmin.id }));
    const { id } = (await ask(site, 'public', {}, otherAdmin)).body;
    expect(summary(await decide(id, 'approve', {}, otherAdmin))).toBe('403 self_review');
    expect(summary(await decide(id, 'reject', { reason: 'x' }, otherAdmin))).toBe('403 self_review');
    expect(summary(await decide(id, 'approve', {}, site.owner))).toBe('403 forbidden');
    expect(summary(await decide(id, 'reject', { reason: 'not yet' }, site.owner))).toBe('200');
    const next = (await ask(site, 'public', {}, otherAdmin)).body.id;
    expect(summary(await decide(next, 'withdraw', undefined, tenant.admin))).toBe('403 forbidden');
    expect(summary(await decide(next, 'withdraw', undefined, otherAdmin))).toBe('200');
  });

  test('is the requester in a tenant with one admin, and the audit records that', async () => {
    const alone = await newTenant();
    const site = await newSite(undefined, { ...alone, member: alone.admin });
    await newRelease(site, page('One'), { on_finalize: 'deploy' });
    const asked = await done(
      alone.admin.call('POST', `${alone.base}/apps/${site.app.id}/publication-requests`, {
        visibility: 'public',
      }),
    );
    await done(alone.admin.call('POST', `${alone.base}/publication-requests/${asked.id}/approve`));
    const { body } = await alone.admin.call('GET', `${alone.base}/audit?action=publications.approve`);
    expect(body.items[0].changes).toContainEqual(
      expect.objectContaining({ path: 'self_approved', after: true }),
    );
    expect(body.items[0].changes).toContainEqual(
      expect.objectContaining({ path: 'visibility', before: 'private', after: 'public' }),
    );
  });

  test('is the policy of the tenant for a few invited people, and the audit records that', async () => {
    const ground = await newTenant();
    const site = await newSite(undefined, ground);
    await newRelease(site, page('One'), { on_finalize: 'deploy' });
    const svc = (person: { token: string }) =>
      svcFor(ground.server, { token: person.token, tenant: ground.slug });
    const [admin, owner] = [svc(ground.admin), svc(site.owner)];
    const of = ['--app', site.app.slug];
    const publish = ['publish', ...of, '--visibility', 'invite_only', '--execute', '--json'];
    expect((await owner(['tenants', 'update', '--invite-only-people-max', '3', '--execute'])).code).toBe(4);
    expect((await admin(['tenants', 'update', '--invite-only-people-max', '3', '--execute'])).code).toBe(0);
    const invite = async () => {
      const { email } = await newMember(ground);
      return (await owner(['apps', 'members', 'add', ...of, '--user', email, '--execute'])).code;
    };
    expect([await invite(), await invite()]).toEqual([0, 0]);
    const asked = await owner(publish);
    expect([asked.code, asked.json()]).toMatchObject([0, { status: 'approved', decided_by: null }]);
    expect((await jsonOutput(owner, 'apps', 'get', site.app.slug)).visibility).toBe('invite_only');
    expect((await jsonOutput(admin, 'review', 'list', ...of)).items).toEqual([]);
    const { items } = await jsonOutput(admin, 'audit', 'list', '--action', 'publications.request');
    const after = Object.fromEntries(
      items[0].changes.map((change: { path: string; after: unknown }) => [change.path, change.after]),
    );
    expect(after).toMatchObject({
      approved_by: 'policy',
      invited_people: 2,
      invited_people_max: 3,
      visibility: 'invite_only',
    });
    expect([await invite(), await invite()]).toEqual([0, 6]);
  });

  test('is not the requester for a week after another admin was removed', async () => {
    const ground = await newTenant();
    const other = await newPerson(ground.server, { tenant: ground.id, role: 'tenant_admin' });
    const site = await newSite(undefined, { ...ground, member: ground.admin });
    await newRelease(site, page('One'), { on_finalize: 'deploy' });
    const requests = `${ground.base}/apps/${site.app.id}/publication-requests`;
    const asked = await done(ground.admin.call('POST', requests, { visibility: 'internet' }));
    await done(ground.admin.call('PUT', `${ground.base}/members/${other.id}`, { role: 'tenant_member' }));
    const svc = svcFor(ground.server, { token: ground.admin.token, tenant: ground.slug });
    const refused = await svc(['review', 'approve', asked.id, '--execute']);
    expect([refused.code, /You can approve it from 2\S+Z/.test(refused.stderr)]).toEqual([4, true]);
    const { body } = await other.call('GET', `${ground.base}/me/notifications`);
    expect(body.items.map(({ kind }: { kind: string }) => kind)).toContain('role_changed');
  });
});

describe('asking', () => {
  test('is limited to twenty requests per minute, since every admin gets an e-mail', async () => {
    const site = await shownSite();
    for (let times = 0; times < 20; times++) {
      const { id } = await done(ask(site, 'public'));
      await done(decide(id, 'withdraw', undefined, site.owner));
    }
    expect(summary(await ask(site, 'public'))).toBe('429 rate_limited');
  });
});

describe('an approved publication', () => {
  test('is visible to the tenant; a release without a review is not', async () => {
    const site = await shownSite();
    expect(
      summary(
        await tenant.admin.call('POST', '/api/v1/static/auth/start', {
          target: `http://${site.host}:${site.server.port}/`,
        }),
      ),
    ).toBe('404 not_found');
    await decide((await ask(site, 'public')).body.id, 'approve');
    const cookie = await visitorCookie(site, tenant.admin);
    const seen = await askSite(site, '/', { headers: { ...asPage.headers, cookie } });
    expect([seen.status, seen.text.includes('One')]).toEqual([200, true]);
    const two = await newRelease(site, page('Two'), { on_finalize: 'deploy' });
    expect(two.pointer).toBeNull();
    expect(summary(await site.owner.call('POST', `${site.base}/releases/${two.id}/activate`))).toBe(
      '409 promotion_required',
    );
  });

  test('can be a staged release: the approval activates it and widens the visibility', async () => {
    const site = await shownSite();
    await done(site.owner.call('POST', `${site.base}/site/staging/enable`));
    const two = await newRelease(site, page('Two'));
    await done(site.owner.call('POST', `${site.base}/releases/${two.id}/stage`));
    const line = ['publish', '--app', site.app.slug, '--visibility', 'internet', '--deployment-id', two.id];
    const asked = await site.svc([...line, '--execute', '--json']);
    expect(asked.json()).toMatchObject({ pinned: 'staged', release_id: two.id });
    await done(decide(String(asked.json().id), 'approve'));
    await until('visitors see it', async () => (await askSite(site, '/', asPage)).text.includes('Two'));
    expect(await appOf(site)).toMatchObject({ visibility: 'internet', review_status: 'approved' });
  });

  test('ends immediately when the visibility narrows, and a new request widens it again', async () => {
    const site = await shownSite();
    await decide((await ask(site, 'internet')).body.id, 'approve');
    await until('visitors see it', async () => (await askSite(site, '/', asPage)).status === 200);
    const narrowed = await site.svc([
      'apps',
      'update',
      site.app.slug,
      '--visibility',
      'private',
      '--execute',
    ]);
    expect(narrowed.code).toBe(0);
    await until('visitors see it no more', async () => (await askSite(site, '/', asPage)).status === 303);
    const widen = await site.svc(['apps', 'update', site.app.slug, '--visibility', 'public', '--execute']);
    expect([widen.code, widen.stderr.includes('svc publish')]).toEqual([6, true]);
    const { id } = (await ask(site, 'public')).body;
    expect(summary(await decide(id, 'approve'))).toBe('200');
  });
});
