import { describe, expect, test } from 'bun:test';
import { loginHeaders } from '../../identity/provider/testing.ts';
import type { Who } from '../static-sites/testing.ts';
import { newReviewEnv, useReviewServer } from './testing.ts';

const shared = useReviewServer();

/** A published site with another release staged, whose promotion is requested. */
async function newQueue() {
  const world = await newReviewEnv(shared.database, shared.server);
  const first = await world.asked({ visibility: 'public' });
  await world.decide(first, 'approve');
  await world.call('POST', '/site/staging/enable');
  const next = await world.release({ 'index.html': 'two', 'new.html': 'new' });
  await world.move(next, 'stage');
  await world.move(next, 'promote-request', 'owner', { note: 'new prices' });
  const reviews = async (method: string, path: string, who: Who = 'admin', body?: unknown) =>
    shared.server.call(
      await loginHeaders(shared.database, world.people[who]),
      method,
      `/api/v1/tenants/${world.tenant.slug}/reviews${path}`,
      body,
    );
  const list = async (query = '') =>
    (await reviews('GET', query)).body.items as { id: string; kind: string }[];
  const promotion = (await list('?kind=promotion'))[0]!.id;
  return { ...world, first, next, reviews, list, promotion };
}

describe('the queue of reviews', () => {
  test('lists publications and promotions together, by kind, status and app', async () => {
    const world = await newQueue();
    const wider = await world.asked({ visibility: 'internet' });
    const kinds = async (query: string) => (await world.list(query)).map(({ kind }) => kind);
    expect(await kinds('')).toEqual(['publication', 'promotion', 'publication']);
    expect((await world.list('?status=pending')).map(({ id }) => id)).toEqual([wider, world.promotion]);
    expect(await kinds('?status=settled')).toEqual(['publication']);
    expect(await kinds(`?kind=promotion&app=${world.app.slug}`)).toEqual(['promotion']);
    expect((await world.reviews('GET', '', 'owner')).body.code).toBe('forbidden');
    const ofApp = await world.ofApp('GET', '/reviews', undefined, 'coOwner');
    expect(ofApp.body.total).toBe(3);
    expect((await world.requests('')).body.total).toBe(2);
  });

  test('shows what a promotion would change, and where it can be seen', async () => {
    const world = await newQueue();
    const { body } = await world.reviews('GET', `/${world.promotion}`);
    expect(body).toMatchObject({
      kind: 'promotion',
      status: 'pending',
      note: 'new prices',
      release_id: world.next,
      expires_at: null,
      diff: {
        before: { release: 1 },
        after: { release: 2, release_id: world.next },
        audience: { before: 'public', after: 'public', invited: 0 },
        files: {
          added: 1,
          changed: 1,
          removed: 0,
          truncated: false,
          items: [
            { path: 'index.html', change: 'changed' },
            { path: 'new.html', change: 'added' },
          ],
        },
      },
    });
    expect(body.url).toContain('--staging.');
    expect((await world.reviews('GET', `/${world.promotion}`, 'member')).status).toBe(404);
    expect((await world.reviews('GET', `/${world.promotion}/logs`)).body.detail).toContain('no build log');
  });

  test('decides promotions: nobody their own, once, and a repeat changes nothing', async () => {
    const world = await newQueue();
    const approve = (who: Who) => world.reviews('POST', `/${world.promotion}/approve`, who, { note: 'fine' });
    expect((await approve('owner')).body.code).toBe('forbidden');
    expect(
      (await world.reviews('POST', `/${world.promotion}/reject`, 'owner', { reason: 'no' })).body.code,
    ).toBe('self_approval');
    expect((await approve('admin')).body).toMatchObject({ status: 'approved', kind: 'promotion', url: null });
    expect((await approve('admin')).body).toMatchObject({ status: 'approved', changed: false });
    expect((await approve('otherAdmin')).body.code).toBe('settled');
    expect((await world.call('GET', '/site')).body.active_release.id).toBe(world.next);
  });

  test('rejects and withdraws promotions, and publications too', async () => {
    const world = await newQueue();
    const wider = await world.asked({ visibility: 'internet' });
    const reject = (id: string) =>
      world.reviews('POST', `/${id}/reject`, 'admin', { reason: 'wrong prices' });
    expect((await reject(world.promotion)).body).toMatchObject({
      status: 'rejected',
      reason: 'wrong prices',
    });
    expect((await reject(wider)).body).toMatchObject({ status: 'rejected', kind: 'publication' });
    await world.move(world.next, 'promote-request');
    const again = (await world.list('?kind=promotion&status=pending'))[0]!.id;
    expect((await world.reviews('POST', `/${again}/withdraw`, 'admin')).body.code).toBe('forbidden');
    expect((await world.reviews('POST', `/${again}/withdraw`, 'coOwner')).body.status).toBe('withdrawn');
    expect(await world.list('?status=pending')).toEqual([]);
  });
});
