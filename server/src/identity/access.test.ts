import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Endpoint, Principal } from '@svc/contract/endpoint.ts';
import { newTenant, newUser, type TestDatabase, testDatabase } from '../testing.ts';
import { browserOf, copyOfServer, loginOf, patOf, peopleRoutes, type ServerCopy } from './testing.ts';

let database: TestDatabase;
let server: ServerCopy;
let tenantId: string;
let memberId: string;
const headersOf = {} as Record<Exclude<Principal, 'O' | 'C'>, Record<string, string>>;

beforeAll(async () => {
  database = await testDatabase();
  server = await copyOfServer(database);
  const { tenant, admin, member } = await newTenant(database.db);
  tenantId = tenant.id;
  memberId = member.userId;
  headersOf.A = await loginOf(database, admin);
  headersOf.M = await loginOf(database, member);
  headersOf.P = (await patOf(server, headersOf.A, tenant.slug)).headers;
  headersOf.N = {};
  headersOf.X = await loginOf(database, await newUser(database.db, null));
});
afterAll(async () => {
  await server.stop();
  await database.close();
});

const absent = Bun.randomUUIDv7();

const bodies: Readonly<Record<string, object>> = {
  'members.set': { role: 'tenant_member' },
  'pats.create': { name: 'x' },
  'tenants.update': { name: 'Another' },
};

/** A dry run, so that no cell changes what the next one meets. */
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
      test('someone of another tenant gets what an absent tenant gets', async () => {
        const outside = await ask('X', endpoint, tenantId);
        expect(outside).toMatchObject({ status: 404, body: { code: 'not_found' } });
        expect(outside).toEqual(await ask('X', endpoint, absent));
      });
    }

    test.each(['A', 'M'] as const)('role %s gets what its cell says', async (role) => {
      const { status, body } = await ask(role, endpoint, tenantId);
      // An app that is not seen is not there, whatever is asked of it.
      const refusal = endpoint.authority.app === undefined ? [403, 'forbidden'] : [404, 'not_found'];
      if (endpoint.who[role] === 'n') expect([status, body.code]).toEqual(refusal);
      // The ids of what is one's own are made up here, so that 404 is the answer of one who was let in.
      else expect([200, 404]).toContain(status);
    });
  },
);

test('a session changes things from its own origin only', async () => {
  const { userId } = await newUser(database.db, tenantId);
  const { cookie } = await browserOf(database, { userId });
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
