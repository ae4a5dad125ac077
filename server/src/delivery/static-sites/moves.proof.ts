import { describe, expect, test } from 'bun:test';
import { sql } from 'kysely';
import { listed, newSiteEnv, type SiteEnv, useSiteServer, type Who } from './testing.ts';

const shared = useSiteServer();

type State =
  | 'draft'
  | 'finalized'
  | 'staged'
  | 'requested'
  | 'active'
  | 'unpublished'
  | 'superseded'
  | 'revoked'
  | 'abandoned'
  | 'expired';
const states: readonly State[] = [
  ...(['draft', 'finalized', 'staged', 'requested', 'active', 'unpublished'] as const),
  ...(['superseded', 'revoked', 'abandoned', 'expired'] as const),
];
const moves = {
  'upload-grant': 'owner',
  finalize: 'owner',
  stage: 'owner',
  activate: 'owner',
  rollback: 'owner',
  revoke: 'owner',
  'promote-request': 'owner',
  'promote-approve': 'admin',
  'promote-reject': 'coOwner',
} as const satisfies Record<string, Who>;
type Move = keyof typeof moves;

/** The id of a release of a private app with staging that is in the state. */
async function inState(world: SiteEnv, state: State): Promise<string> {
  const { create, send, release, move, call } = world;
  await call('POST', '/site/staging/enable');
  if (state === 'draft' || state === 'abandoned') {
    const draft = await create({ 'index.html': 'draft' });
    await send(draft, { 'index.html': 'draft' });
    if (state === 'abandoned') await set(draft.body.id, state);
    return draft.body.id;
  }
  const id = await release({ 'index.html': state });
  const then: Record<Exclude<State, 'draft' | 'abandoned'>, () => Promise<unknown>> = {
    finalized: async () => {},
    staged: () => move(id, 'stage'),
    requested: async () => {
      await move(id, 'stage');
      await move(id, 'promote-request');
    },
    active: () => move(id, 'activate'),
    unpublished: async () => {
      await move(id, 'activate');
      await call('POST', '/site/unpublish');
    },
    superseded: async () => {
      await move(id, 'activate');
      await move(await release({ 'index.html': 'newer' }), 'activate');
    },
    revoked: () => move(id, 'revoke'),
    expired: () => set(id, 'expired'),
  };
  await then[state]();
  return id;
}

const set = (id: string, state: string) =>
  sql`update svc.static_releases set state = ${state} where id = ${id}`.execute(shared.database.db);

/** `ok`, `same` for a repeat that changes nothing, or the code of the refusal. Previews leave the release as it is. */
async function outcome(world: SiteEnv, id: string, kind: Move): Promise<string> {
  const query = kind === 'upload-grant' ? '' : '?dry_run=true';
  const { status, body } = await world.move(id, `${kind}${query}`, moves[kind]);
  if (status >= 400) return body.code;
  return body.plan?.changes.length === 0 ? 'same' : 'ok';
}

/** Each move in each state, with one env per state. */
async function tableOf(
  kinds: readonly Move[],
  prepare: (world: SiteEnv) => Promise<unknown> = async () => {},
): Promise<Record<string, Record<string, string>>> {
  const table: Record<string, Record<string, string>> = Object.fromEntries(kinds.map((kind) => [kind, {}]));
  await Promise.all(
    states.map(async (state) => {
      const world = await newSiteEnv(shared.database, shared.server);
      const id = await inState(world, state);
      await prepare(world);
      for (const kind of kinds) table[kind]![state] = await outcome(world, id, kind);
    }),
  );
  return table;
}

const none = (code: string) => Object.fromEntries(states.map((state) => [state, code]));
const dead = (code: string) => ({ draft: code, abandoned: code, expired: code, revoked: 'release_revoked' });

describe('allowed moves of a release', () => {
  test('of a private app, by state', async () => {
    expect(await tableOf(Object.keys(moves) as Move[])).toEqual({
      'upload-grant': { ...none('release_not_draft'), draft: 'ok' },
      finalize: {
        ...none('same'),
        ...dead('release_not_draft'),
        draft: 'ok',
      },
      stage: { ...none('ok'), ...dead('release_not_finalized'), staged: 'same', requested: 'same' },
      activate: { ...none('ok'), ...dead('release_not_finalized'), active: 'same' },
      rollback: {
        ...none('not_rollback_target'),
        ...dead('not_rollback_target'),
        active: 'same',
        unpublished: 'ok',
        superseded: 'ok',
      },
      revoke: {
        ...none('ok'),
        draft: 'ok',
        active: 'release_active',
        revoked: 'same',
        abandoned: 'same',
        expired: 'release_not_finalized',
      },
      'promote-request': {
        ...none('not_staged'),
        ...dead('release_not_finalized'),
        staged: 'ok',
        requested: 'same',
      },
      'promote-approve': {
        ...none('not_pending'),
        ...dead('release_not_finalized'),
        requested: 'ok',
      },
      'promote-reject': { ...none('not_pending'), requested: 'ok' },
    });
  });

  test('of an app that others see: only reviewed or active releases can be activated', async () => {
    const publish = ({ app }: SiteEnv) =>
      sql`update svc.apps set visibility = 'public' where id = ${app.id}`.execute(shared.database.db);
    expect(await tableOf(['activate', 'rollback'], publish)).toEqual({
      activate: {
        ...none('promotion_required'),
        ...dead('release_not_finalized'),
        active: 'same',
        unpublished: 'ok',
      },
      rollback: {
        ...none('not_rollback_target'),
        ...dead('not_rollback_target'),
        active: 'same',
        unpublished: 'ok',
        superseded: 'promotion_required',
      },
    });
    const review = (reviewed: string) => async (world: SiteEnv) => {
      await publish(world);
      await sql`update svc.static_releases set reviewed_for = ${reviewed} where app_id = ${world.app.id}`.execute(
        shared.database.db,
      );
    };
    for (const [reviewed, expected] of [
      ['invite_only', 'promotion_required'],
      ['public', 'ok'],
      ['internet', 'ok'],
    ] as const) {
      const { activate } = await tableOf(['activate'], review(reviewed));
      expect([reviewed, activate?.finalized, activate?.superseded]).toEqual([reviewed, expected, expected]);
    }
  });

  test('of an archived app: only revoke and reject', async () => {
    const archive = (world: SiteEnv) =>
      sql`update svc.apps set record = 'archived', runtime = 'none' where id = ${world.app.id}`.execute(
        shared.database.db,
      );
    const kinds = (Object.keys(moves) as Move[]).filter((it) => it !== 'revoke' && it !== 'promote-reject');
    expect(await tableOf(kinds, archive)).toEqual(
      Object.fromEntries(kinds.map((kind) => [kind, none('app_not_active')])),
    );
    const { revoke } = await tableOf(['revoke'], archive);
    expect([revoke?.superseded, revoke?.staged, revoke?.active]).toEqual(['ok', 'ok', 'release_active']);
  });
});

test('revoking a release unstages it, cancels its promotion and clears an unpublished site', async () => {
  const world = await newSiteEnv(shared.database, shared.server);
  const staged = await inState(world, 'requested');
  expect((await world.move(staged, 'revoke', 'admin')).body).toMatchObject({ state: 'revoked', roles: [] });
  const { body } = await world.call('GET', '/site');
  expect([body.staged_release, body.promotion.status]).toEqual([null, 'canceled']);
  const shown = await inState(world, 'unpublished');
  expect((await world.move(shown, 'revoke')).status).toBe(200);
  expect((await world.call('GET', '/site')).body).toMatchObject({ active_release: null, published: false });
  expect((await world.call('POST', '/site/unpublish')).body.code).toBe('nothing_active');
});

test('unpublishing keeps the active release; activating it publishes again', async () => {
  const world = await newSiteEnv(shared.database, shared.server);
  expect((await world.call('POST', '/site/unpublish')).body.code).toBe('nothing_active');
  const id = await inState(world, 'active');
  const app = async () =>
    (
      await sql`select runtime, is_deployed, visibility from svc.apps where id = ${world.app.id}`.execute(
        shared.database.db,
      )
    ).rows[0];
  expect((await world.call('POST', '/site/unpublish', undefined, 'admin')).body).toMatchObject({
    published: false,
    active_release: { id },
  });
  expect(await app()).toEqual({ runtime: 'none', is_deployed: false, visibility: 'private' });
  expect((await world.call('POST', '/site/unpublish')).body.changed).toBe(false);
  expect((await world.move(id, 'activate')).body).toMatchObject({ pointer: 'active', roles: ['active'] });
  expect(await app()).toEqual({ runtime: 'running', is_deployed: true, visibility: 'private' });
});

test('activating a release does not resume a suspended app', async () => {
  const world = await newSiteEnv(shared.database, shared.server);
  await inState(world, 'active');
  await sql`update svc.apps set runtime = 'suspended' where id = ${world.app.id}`.execute(shared.database.db);
  await world.move(await world.release({ 'index.html': 'next' }), 'activate');
  const { rows } = await sql`select runtime from svc.apps where id = ${world.app.id}`.execute(
    shared.database.db,
  );
  expect(rows).toEqual([{ runtime: 'suspended' }]);
});

test('unpublishing does not resume a suspended app', async () => {
  const world = await newSiteEnv(shared.database, shared.server);
  const id = await inState(world, 'active');
  const outcome = async () => {
    const { body } = await world.ofApp('GET', '');
    return [body.runtime, body.lifecycle_status];
  };
  expect((await world.ofApp('POST', '/suspend')).status).toBe(200);
  await world.call('POST', '/site/unpublish');
  expect((await outcome())[0]).toBe('suspended');
  expect((await world.ofApp('POST', '/resume')).body.code).toBe('no_successful_deployment');
  await world.move(id, 'activate');
  expect((await outcome())[0]).toBe('suspended');
  expect((await world.ofApp('POST', '/resume')).status).toBe(200);
  expect((await outcome())[0]).toBe('running');
});

test('a revoked draft is abandoned: it accepts no files and does not count as a draft', async () => {
  const world = await newSiteEnv(shared.database, shared.server);
  const files = { 'index.html': 'draft', 'a.html': 'a' };
  const draft = await world.create(files);
  expect((await world.move(draft.body.id, 'revoke')).body).toMatchObject({
    state: 'abandoned',
    pointer: null,
    revoked_at: null,
  });
  expect(await world.send(draft, files)).toEqual([409, 409]);
  expect((await world.create(files)).body.number).toBe(2);
});

test('deploying or approving publishes an unpublished site, with a warning in the plan', async () => {
  const world = await newSiteEnv(shared.database, shared.server);
  const warning = 'The site is unpublished; this publishes it again.';
  const warnings = async (path: string, body?: unknown, who?: Who) =>
    (await world.call('POST', `${path}?dry_run=true`, body, who)).body.plan.warnings as string[];
  const asked = { files: listed({ 'index.html': 'next' }), on_finalize: 'deploy' };
  expect(await warnings('/releases', asked)).not.toContain(warning);
  await inState(world, 'active');
  expect(await warnings('/releases', asked)).not.toContain(warning);
  await world.call('POST', '/site/unpublish');
  expect(await warnings('/releases', asked)).toContain(warning);
  const id = await world.release({ 'index.html': 'staged' });
  await world.move(id, 'stage');
  await world.move(id, 'promote-request');
  expect(await warnings(`/releases/${id}/promote-approve`, {}, 'admin')).toContain(warning);
  await world.release({ 'index.html': 'next' }, { on_finalize: 'deploy' });
  expect((await world.call('GET', '/site')).body.published).toBe(true);
});

test('disabling staging clears the staged release and its promotion', async () => {
  const world = await newSiteEnv(shared.database, shared.server);
  const id = await world.release({ 'index.html': 'x' });
  expect((await world.move(id, 'stage')).body.code).toBe('staging_disabled');
  expect((await world.call('POST', '/site/staging/disable')).body.changed).toBe(false);
  const enabled = await world.call('POST', '/site/staging/enable');
  expect(enabled.body).toMatchObject({
    staging_enabled: true,
    staging_url: `http://${world.app.slug}--staging.apps.example.test/`,
  });
  expect((await world.call('POST', '/site/staging/enable')).body.changed).toBe(false);
  const staged = await world.move(id, 'stage');
  expect([staged.body.pointer, staged.body.url]).toEqual(['staged', enabled.body.staging_url]);
  await world.move(id, 'promote-request');
  const disabled = await world.call('POST', '/site/staging/disable');
  expect(disabled.body).toMatchObject({ staging_enabled: false, staging_url: null, staged_release: null });
  expect(disabled.body.promotion.status).toBe('stale');
});
