import { beforeAll, describe, expect, test } from 'bun:test';
import type { Endpoint, Principal } from '@svc/contract/endpoint.ts';
import { newTenant, newUser } from '../../testing.ts';
import { browserHeaders, loginHeaders, patHeaders, peopleRoutes, useServer } from './testing.ts';

const { database, server } = useServer();
let tenantId: string;
let memberId: string;
const headersOf = {} as Record<Exclude<Principal, 'O' | 'C'>, Record<string, string>>;

beforeAll(async () => {
  const { tenant, admin, member } = await newTenant(database.db);
  tenantId = tenant.id;
  memberId = member.userId;
  headersOf.A = await loginHeaders(database, admin);
  headersOf.M = await loginHeaders(database, member);
  headersOf.P = (await patHeaders(server, headersOf.A, tenant.slug)).headers;
  headersOf.N = {};
  headersOf.X = await loginHeaders(database, await newUser(database.db, null));
});

const absent = Bun.randomUUIDv7();

const bodies: Readonly<Record<string, object>> = {
  'members.set': { role: 'tenant_member' },
  'members.update': { attributes: { region: 'eu' } },
  'pats.create': { name: 'x' },
  'tenants.update': { name: 'Another' },
};

/** A dry run, so that no case affects the next one. */
function ask(who: keyof typeof headersOf, { method, path, kind, id }: Endpoint, tenant: string) {
  const filled = path
    .replace('{tenantID}', tenant)
    .replace('{userID}', memberId)
    .replace(/\{\w+\}/, absent);
  return server.call(headersOf[who], method, filled + (kind === 'mutate' ? '?dry_run=true' : ''), bodies[id]);
}

describe.each(peopleRoutes.map((route) => [route.endpoint.id, route.endpoint] as const))(
  '%s',
  (_, endpoint) => {
    const belowTenant = endpoint.authority.role !== undefined;

    test('anonymous answers 401', async () => {
      expect(await ask('N', endpoint, tenantId)).toMatchObject({
        status: 401,
        body: { code: 'unauthenticated' },
      });
    });

    test('a PAT, even of an admin, answers 403 login_required', async () => {
      expect(await ask('P', endpoint, tenantId)).toMatchObject({
        status: 403,
        body: { code: 'login_required' },
      });
    });

    if (belowTenant) {
      test('a member of another tenant gets the same answer as for a missing tenant', async () => {
        const outside = await ask('X', endpoint, tenantId);
        expect(outside).toMatchObject({ status: 404, body: { code: 'not_found' } });
        expect(outside).toEqual(await ask('X', endpoint, absent));
      });
    }

    test.each(['A', 'M'] as const)('role %s gets the declared answer', async (role) => {
      const { status, body } = await ask(role, endpoint, tenantId);
      // An invisible app is reported as missing.
      const refusal = endpoint.authority.app === undefined ? [403, 'forbidden'] : [404, 'not_found'];
      if (endpoint.who[role] === 'n') expect([status, body.code]).toEqual(refusal);
      // The ids are made up: 404 means that access was granted.
      else expect([200, 404]).toContain(status);
    });
  },
);

test('a session can make changes from its own origin only', async () => {
  const { userId } = await newUser(database.db, tenantId);
  const { cookie } = await browserHeaders(database, { userId });
  const path = `/api/v1/tenants/${tenantId}/pats`;
  const crossSite = { cookie, 'sec-fetch-site': 'cross-site', origin: 'https://evil.test' };
  const refused = await server.call(crossSite, 'POST', path, { name: 'x' });
  expect([refused.status, refused.body.code]).toEqual([403, 'cross_site_request']);
  expect(
    (await server.call({ cookie, 'sec-fetch-site': 'same-origin' }, 'POST', path, { name: 'x' })).status,
  ).toBe(201);
  expect((await server.call({ cookie }, 'GET', path)).body.total).toBe(1);
});

test('two credentials at once answer 400, whatever they are', async () => {
  const both = { ...headersOf.A, ...headersOf.P };
  const answer = await server.call(both, 'GET', '/api/v1/me');
  expect([answer.status, answer.body.code]).toEqual([400, 'ambiguous_credentials']);
});
