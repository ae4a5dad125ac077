import { expect, test } from 'bun:test';
import type { EdgeAnswer } from '../plumbing/edge-request.ts';
import type { RunningApp } from './site-snapshot.ts';
import { testRequest, testSite } from './testing.ts';
import { createWhoAsks } from './who-asks.ts';

const refusedBy: EdgeAnswer = { status: 303, headers: {}, body: null };

function asking({ isOpen }: { isOpen: boolean }, authMode: RunningApp['authMode']) {
  const whoAsks = createWhoAsks({
    visitors: { userAt: async () => 'u1', turnAway: () => refusedBy },
    findCredential: async () => null,
    findPerson: async ({ userId }) => ({ userId, email: 'a@b.test', name: 'A', relation: 'member' }),
    cache: {
      get: async (_key, load) => (await load())?.value ?? null,
      peek: () => null,
      forget: () => {},
    },
  });
  const app: RunningApp = { deploymentId: 'd1', addresses: [], authMode, tenantSlug: 'acme' };
  return (method: string) => whoAsks(testSite({}, { isOpen }), app, testRequest('/', { method }));
}

const modes = ['bearer', 'api_key'] as const;

test.each(modes)('by %s: a browser that asks beforehand reaches an app that is open to all', async (mode) => {
  expect(await asking({ isOpen: true }, mode)('OPTIONS')).toEqual({ person: null, userId: null });
});

test.each(modes)('by %s: an app for some hears nothing from who has not said who they are', async (mode) => {
  const asked = await asking({ isOpen: false }, mode)('OPTIONS');
  expect(asked).toMatchObject({ refused: { status: 401 } });
});

test('an app that is never told who asks is shown by their right all the same', async () => {
  expect(await asking({ isOpen: false }, 'anonymous')('GET')).toEqual({ person: null, userId: 'u1' });
  expect(await asking({ isOpen: true }, 'anonymous')('GET')).toEqual({ person: null, userId: null });
  expect(await asking({ isOpen: false }, 'cookie')('GET')).toMatchObject({
    person: { userId: 'u1' },
    userId: 'u1',
  });
});
