import { describe, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { useFixture } from '../scripts/use-fixture.ts';
import { newPerson, newTenant, type Person } from './support/people.ts';
import { sharedServer } from './support/server.ts';
import {
  createDraft,
  manifestOf,
  moveRelease,
  newRelease,
  newSite,
  type SiteGround,
  sendMissing,
  setVisibility,
  sumOf,
} from './support/sites.ts';

const page = (text: string) => ({ 'index.html': `<h1>${text}</h1>`, 'style.css': 'h1 { color: green }' });

const tenant = useFixture(async () => newTenant(await sharedServer()));

const siteOf = async ({ owner, base }: SiteGround) => (await owner.call('GET', `${base}/site`)).body;
const summary = ({ status, body }: { status: number; body: { code?: string } }) =>
  status < 300 ? String(status) : `${status} ${body.code}`;
const sent = async (url: string, body: string, headers: Record<string, string> = {}) => {
  const answer = await fetch(url, { method: 'PUT', body, headers });
  return summary({ status: answer.status, body: (await answer.json()) as { code?: string } });
};
const by = (person: Person, { base }: SiteGround, release: string, move: string, body?: unknown) =>
  person.call('POST', `${base}/releases/${release}/${move}`, body);

describe('a site', () => {
  test('is deployed, staged, reviewed, promoted, rolled back, unpublished and published again', async () => {
    const site = await newSite(undefined, tenant);
    const { owner, base } = site;
    expect(await siteOf(site)).toMatchObject({ published: false, active_release: null, updated_at: null });
    const first = await newRelease(site, page('One'), { version: 'v1', on_finalize: 'deploy' });
    expect(first).toMatchObject({
      state: 'finalized',
      pointer: 'active',
      number: 1,
      version: 'v1',
      files: 2,
      url: `http://${site.host}:${tenant.server.port}/`,
    });
    expect((await owner.call('GET', `${tenant.base}/apps/${site.app.id}`)).body).toMatchObject({
      runtime: 'running',
      deployment_status: 'deployed',
      operating_status: 'dev',
    });

    await setVisibility(site, 'public');
    const second = await newRelease(site, page('Two'), { on_finalize: 'deploy' });
    expect(second.pointer).toBeNull();
    expect(summary(await moveRelease(site, second.id, 'activate'))).toBe('409 promotion_required');
    expect(summary(await moveRelease(site, second.id, 'stage'))).toBe('409 staging_disabled');
    expect(summary(await owner.call('POST', `${base}/site/staging/enable`))).toBe('200');
    expect((await moveRelease(site, second.id, 'stage')).body).toMatchObject({
      pointer: 'staged',
      url: `http://${site.stagingHost}:${tenant.server.port}/`,
    });
    expect(summary(await by(tenant.admin, site, second.id, 'promote-approve'))).toBe('409 not_pending');
    const request = await by(owner, site, second.id, 'promote-request', { note: 'please look' });
    expect(request.body).toMatchObject({ status: 'pending', note: 'please look' });
    expect(summary(await by(owner, site, second.id, 'promote-approve'))).toBe('403 forbidden');
    const approved = await by(tenant.admin, site, second.id, 'promote-approve', { note: 'good' });
    expect(approved.body).toMatchObject({
      pointer: 'active',
      reviewed_for: 'public',
      digest: request.body.digest,
    });
    expect(summary(await moveRelease(site, second.id, 'revoke'))).toBe('409 release_active');
    // Active before the app was public, and never reviewed.
    expect(summary(await moveRelease(site, first.id, 'rollback'))).toBe('409 promotion_required');
    await moveRelease(site, first.id, 'stage');
    await moveRelease(site, first.id, 'promote-request');
    await by(tenant.admin, site, first.id, 'promote-approve');
    expect((await moveRelease(site, second.id, 'rollback')).body.roles).toEqual(['active']);
    expect((await siteOf(site)).active_release.id).toBe(second.id);

    expect((await tenant.admin.call('POST', `${base}/site/unpublish`)).body.published).toBe(false);
    expect((await moveRelease(site, second.id, 'activate')).body.pointer).toBe('active');
    expect(await siteOf(site)).toMatchObject({ published: true, active_release: { id: second.id } });
    const listed = (await owner.call('GET', `${base}/releases`)).body.items;
    expect(listed.map(({ number, roles }: { number: number; roles: string[] }) => [number, roles])).toEqual([
      [2, ['active']],
      [1, ['staged', 'superseded']],
    ]);
  });

  test('uploads only changed files, and resumes after an interruption', async () => {
    const site = await newSite(undefined, tenant);
    await newRelease(site, page('One'));
    const files = { ...page('Two'), 'new.txt': 'new' };
    const draft = await createDraft(site, files);
    expect(draft.missing.sort()).toEqual([sumOf('<h1>Two</h1>'), sumOf('new')].sort());
    await sendMissing({ ...draft, missing: draft.missing.slice(0, 1) }, files);
    const again = await site.owner.call('POST', `${site.base}/releases`, { files: manifestOf(files) });
    expect([again.status, again.body.id, again.body.missing]).toEqual([
      200,
      draft.id,
      draft.missing.slice(1),
    ]);
    await sendMissing(again.body, files);
    expect(summary(await moveRelease(site, draft.id, 'finalize'))).toBe('200');
    const { body } = await site.owner.call('GET', `${site.base}/releases/${draft.id}/files`);
    expect(body.items).toEqual(manifestOf(files).sort((one, other) => (one.path < other.path ? -1 : 1)));
  });

  test('accepts files of up to 25 MiB, not one byte more', async () => {
    const site = await newSite(undefined, tenant);
    const bytes = new Uint8Array(randomBytes(25 * 1024 * 1024));
    const { id, pointer } = await newRelease(site, { 'large.bin': bytes }, { on_finalize: 'deploy' });
    expect([typeof id, pointer]).toEqual(['string', 'active']);
    const files = [{ path: 'a', sha256: sumOf('a'), size: bytes.byteLength + 1 }];
    const refused = await site.owner.call('POST', `${site.base}/releases`, { files });
    expect([summary(refused), refused.body.errors[0].field]).toEqual([
      '413 payload_too_large',
      'files[0].size',
    ]);
  });

  test('is audited, and its approval by the only admin of a tenant is on record', async () => {
    const alone = await newTenant(tenant.server);
    const site = await newSite(undefined, { ...alone, member: alone.admin });
    await setVisibility(site, 'invite_only');
    await site.owner.call('POST', `${site.base}/site/staging/enable`);
    const { id, pointer } = await newRelease(site, page('Mine'), { on_finalize: 'deploy' });
    expect(pointer).toBe('staged');
    await moveRelease(site, id, 'promote-request');
    expect(summary(await moveRelease(site, id, 'promote-approve'))).toBe('200');
    // Refused with another admin in the tenant, and right after that admin was removed.
    const next = await newRelease(site, page('Next'), { on_finalize: 'deploy' });
    await moveRelease(site, next.id, 'promote-request');
    const other = await newPerson(tenant.server, { tenant: alone.id, role: 'tenant_admin' });
    expect(summary(await moveRelease(site, next.id, 'promote-approve'))).toBe('403 self_approval');
    await alone.admin.call('DELETE', `${alone.base}/members/${other.id}`);
    expect(summary(await moveRelease(site, next.id, 'promote-approve'))).toBe('403 self_approval');
    const { body } = await alone.admin.call('GET', `${alone.base}/audit?per_page=200`);
    const actions: { action: string; changes: { path: string; after: unknown }[] }[] = body.items;
    const approval = actions.find(({ action }) => action === 'releases.approvePromotion');
    expect(approval?.changes).toContainEqual(expect.objectContaining({ path: 'self_approved', after: true }));
    for (const action of [
      'releases.create',
      'releases.finalize',
      'releases.requestPromotion',
      'sites.enableStaging',
    ])
      expect(actions.map((it) => it.action)).toContain(action);
  });

  test('never logs the upload URL', async () => {
    const site = await newSite(undefined, tenant);
    const draft = await createDraft(site, page('Quiet'));
    await sendMissing(draft, page('Quiet'));
    const token = draft.upload_url.split('/').at(-2)!;
    expect(tenant.server.output()).toContain('/uploads/…');
    expect(tenant.server.output()).not.toContain(token);
  });
});

describe('every refusal has its code', () => {
  test('of a list of files', async () => {
    const { owner, base } = await newSite(undefined, tenant);
    const file = { path: 'a.html', sha256: sumOf('a'), size: 1 };
    const create = async (files: object[]) =>
      summary(await owner.call('POST', `${base}/releases`, { files }));
    expect(await create([{ ...file, path: '../a.html' }])).toBe('422 invalid_path');
    expect(await create([file, { ...file, path: 'A.html' }])).toBe('422 path_collision');
    expect(await create([file, { ...file, path: 'b.html', size: 2 }])).toBe('400 validation_failed');
    const large = Array.from({ length: 42 }, (_, at) => ({
      path: `${at}.bin`,
      sha256: sumOf(`${at}`),
      size: 25 * 1024 * 1024,
    }));
    expect(await create(large)).toBe('413 payload_too_large');
    const bad = await owner.call('PUT', `${base}/site`, {
      redirects: [{ from: '/a', to: '//evil.example' }],
    });
    expect([summary(bad), bad.body.errors[0].field]).toEqual(['400 validation_failed', 'redirects.0.to']);
  });

  test('of a file that is sent', async () => {
    const site = await newSite(undefined, tenant);
    const files = { 'a.html': 'a page' };
    const draft = await createDraft(site, files);
    const url = `${draft.upload_url}${sumOf('a page')}`;
    expect(summary(await moveRelease(site, draft.id, 'finalize'))).toBe('409 release_incomplete');
    expect(await sent(`${draft.upload_url}${sumOf('other')}`, 'other')).toBe('404 not_in_manifest');
    expect(await sent(url, 'a pace')).toBe('422 digest_mismatch');
    expect(await sent(url, 'a page', { 'content-encoding': 'gzip' })).toBe('415 unsupported_media_type');
    expect(await sent(url.replace('/uploads/', '/uploads/x'), 'a page')).toBe('403 forbidden');
    expect(await sent(url, 'a page')).toBe('201');
    expect(await sent(url, 'a page')).toBe('200');
    await moveRelease(site, draft.id, 'finalize');
    expect(await sent(url, 'a page')).toBe('409 release_not_draft');
    expect(summary(await moveRelease(site, draft.id, 'upload-grant'))).toBe('409 release_not_draft');
  });

  test('of a move', async () => {
    const site = await newSite(undefined, tenant);
    const { owner, base } = site;
    const unpublish = async () => summary(await owner.call('POST', `${base}/site/unpublish`));
    expect(await unpublish()).toBe('409 nothing_active');
    const draft = await createDraft(site, page('Draft'));
    expect(summary(await moveRelease(site, draft.id, 'activate'))).toBe('409 release_not_finalized');
    const { id } = await newRelease(site, page('One'));
    expect(summary(await moveRelease(site, id, 'rollback'))).toBe('409 not_rollback_target');
    expect(summary(await moveRelease(site, id, 'promote-request'))).toBe('409 not_staged');
    await owner.call('POST', `${base}/site/staging/enable`);
    await moveRelease(site, id, 'stage');
    await by(owner, site, id, 'promote-request', { note: 'one' });
    expect(summary(await by(owner, site, id, 'promote-request', { note: 'two' }))).toBe(
      '409 promotion_pending',
    );
    expect(summary(await moveRelease(site, id, 'promote-reject'))).toBe('403 self_approval');
    const unseen = { digest: sumOf('another') };
    expect(summary(await by(tenant.admin, site, id, 'promote-approve', unseen))).toBe('409 staging_changed');
    await moveRelease(site, id, 'revoke');
    expect(summary(await moveRelease(site, id, 'activate'))).toBe('409 release_revoked');
    expect(summary(await by(tenant.admin, site, id, 'promote-reject'))).toBe('409 not_pending');
    const other = await newRelease(site, page('Two'), { on_finalize: 'deploy' });
    expect((await owner.call('POST', `${tenant.base}/apps/${site.app.id}/archive`)).status).toBe(200);
    expect(summary(await moveRelease(site, other.id, 'activate'))).toBe('409 app_not_active');
    expect(summary(await owner.call('PUT', `${base}/site`, {}))).toBe('409 app_not_active');
    expect(await unpublish()).toBe('200');
    expect(summary(await moveRelease(site, Bun.randomUUIDv7(), 'activate'))).toBe('404 not_found');
  });
});
