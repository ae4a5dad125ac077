import { expect, test } from 'bun:test';
import { moveRelease, type ReleaseMove } from '@svc/contract/release-moves.ts';
import { newSiteEnv, type SiteEnv, useSiteServer, type Who } from './testing.ts';

const shared = useSiteServer();

const moves: Record<ReleaseMove, { path: string; by: Who }> = {
  finalize: { path: 'finalize', by: 'owner' },
  stage: { path: 'stage', by: 'owner' },
  requestPromotion: { path: 'promote-request', by: 'coOwner' },
  approvePromotion: { path: 'promote-approve', by: 'otherAdmin' },
  rejectPromotion: { path: 'promote-reject', by: 'otherAdmin' },
  activate: { path: 'activate', by: 'owner' },
  rollback: { path: 'rollback', by: 'owner' },
  revoke: { path: 'revoke', by: 'owner' },
};
const names = Object.keys(moves) as ReleaseMove[];

/** The result of a preview of the move, in the words of the table. */
async function tried({ call }: SiteEnv, id: string, move: ReleaseMove): Promise<string> {
  const { path, by } = moves[move];
  // A different note: the same request would be a repeat.
  const words = move === 'requestPromotion' ? { note: 'please' } : undefined;
  const { status, body } = await call('POST', `/releases/${id}/${path}?dry_run=true`, words, by);
  if (status !== 200) return body.code;
  return body.plan.changes.length === 0 ? 'same' : 'moves';
}

/** Compares every move of every release between server and table; returns the number of comparisons. */
async function compare(world: SiteEnv): Promise<number> {
  const { body: app } = await world.ofApp('GET', '');
  const { body: site } = await world.call('GET', '/site');
  const { body: releases } = await world.call('GET', '/releases');
  for (const release of releases.items) {
    const situation = { release, site, app };
    const expected = names.map((move) => `${move}: ${moveRelease(move, situation)}`);
    const actual = await Promise.all(
      names.map(async (move) => `${move}: ${await tried(world, release.id, move)}`),
    );
    expect({ state: release.state, roles: release.roles, moves: actual }).toEqual({
      state: release.state,
      roles: release.roles,
      moves: expected,
    });
  }
  return releases.items.length * names.length;
}

test.each(['private', 'public'] as const)(
  'the server follows the table of moves for a release of a %s app',
  async (visibility) => {
    const world = await newSiteEnv(shared.database, shared.server, { visibility });
    const { release, move, call, create, ofApp } = world;
    const [one, two, three] = [
      await release({ 'index.html': 'one' }),
      await release({ 'index.html': 'two' }),
      await release({ 'index.html': 'three' }),
    ];
    const steps: (() => Promise<unknown>)[] = [
      async () => {},
      () => call('POST', '/site/staging/enable'),
      () => move(one, 'stage'),
      () => move(one, 'promote-request'),
      () => move(one, 'promote-approve', 'admin'),
      () => move(two, 'activate'),
      () => move(two, 'stage'),
      () => move(two, 'promote-request'),
      () => move(two, 'promote-reject', 'admin'),
      () => move(one, 'rollback'),
      () => move(two, 'promote-request'),
      () => call('POST', '/site/unpublish'),
      () => move(one, 'activate'),
      () => call('POST', '/site/unpublish'),
      () => move(three, 'revoke'),
      async () => move((await create({ 'index.html': 'never sent' })).body.id, 'revoke'),
      () => ofApp('POST', '/archive'),
    ];
    let compared = 0;
    for (const step of steps) {
      await step();
      compared += await compare(world);
    }
    expect(compared).toBeGreaterThan(300);
  },
);
