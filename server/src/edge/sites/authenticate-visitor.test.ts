import { expect, test } from 'bun:test';
import type { EdgeResponse } from '../../http/edge-request.ts';
import { createVisitorAuth } from './authenticate-visitor.ts';
import type { RunningApp } from './site-cache.ts';
import { testRequest, testSite } from './testing.ts';

const refusedBy: EdgeResponse = { status: 303, headers: {}, body: null };

function asking({ isOpen }: { isOpen: boolean }, authMode: RunningApp['authMode']) {
  const authenticateVisitor = createVisitorAuth({
    visitors: { findVisitor: async () => 'u1', redirectToSignIn: () => refusedBy },
    findCredential: async () => null,
    findPerson: async ({ userId }) => ({ userId, email: 'a@b.test', name: 'A', relation: 'member' }),
    cache: {
      get: async (_key, load) => (await load())?.value ?? null,
      peek: () => null,
      delete: () => {},
    },
  });
  const app: RunningApp = {
    deploymentId: 'd1',
    addresses: [],
    firstByteMs: null,
    wakeMs: null,
    authMode,
    tenantSlug: 'acme',
  };
  return (method: string) => authenticateVisitor(testSite({}, { isOpen }), app, testRequest('/', { method }));
}

const modes = ['bearer', 'api_key'] as const;

test.each(modes)('with auth mode %s a CORS preflight reaches a public app', async (mode) => {
  expect(await asking({ isOpen: true }, mode)('OPTIONS')).toEqual({ person: null, userId: null });
});

test.each(modes)('with auth mode %s a restricted app gets no anonymous requests', async (mode) => {
  const asked = await asking({ isOpen: false }, mode)('OPTIONS');
  expect(asked).toMatchObject({ refused: { status: 401 } });
});

test('with auth mode anonymous the visibility still applies', async () => {
  expect(await asking({ isOpen: false }, 'anonymous')('GET')).toEqual({ person: null, userId: 'u1' });
  expect(await asking({ isOpen: true }, 'anonymous')('GET')).toEqual({ person: null, userId: null });
  expect(await asking({ isOpen: false }, 'cookie')('GET')).toMatchObject({
    person: { userId: 'u1' },
    userId: 'u1',
  });
});
