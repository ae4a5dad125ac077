import { beforeAll, expect, test } from 'bun:test';
import { bearer, type Call, caller, newPerson } from './support/people.ts';
import { type RowsWorld, rowsWorld, type TestTable } from './support/rows.ts';
import { isScimError, newDirectory } from './support/scim.ts';
import { startServer } from './support/server.ts';

const limits = { person: 60, token: 40, address: 20 };
let world: RowsWorld;
let table: TestTable;

beforeAll(async () => {
  const server = await startServer({
    env: {
      SVC_RATE_LIMIT_PERSON: String(limits.person),
      SVC_RATE_LIMIT_TOKEN: String(limits.token),
      SVC_RATE_LIMIT_ADDRESS: String(limits.address),
    },
  });
  world = await rowsWorld(server);
  table = await world.table(['a:int']);
});

/** Four times the limit at once, so that it is exceeded however the requests fall into windows. */
async function exceed(kind: keyof typeof limits, calls: (() => ReturnType<Call>)[], status: number) {
  const max = limits[kind];
  const each = Array.from({ length: (4 * max) / calls.length }, () => calls);
  const answers = await Promise.all(each.flat().map((call) => call()));
  const refused = answers.filter((answer) => answer.status === 429);
  const others = answers.filter((answer) => answer.status !== 429);
  expect(refused.length).toBeGreaterThan(0);
  expect(new Set(others.map((answer) => answer.status))).toEqual(new Set([status]));
  const policy = `"${kind}";q=${max};w=10`;
  // Rows leave the headers out while more than half is left.
  for (const { headers } of answers) expect(headers.get('ratelimit-policy') ?? policy).toBe(policy);
  for (const { headers, body } of refused) {
    const [, seconds] = new RegExp(`^"${kind}";r=0;t=(\\d+)$`).exec(headers.get('ratelimit') ?? '') ?? [];
    expect([body.code, headers.get('retry-after')]).toEqual(['rate_limited', seconds ?? '']);
    expect(Number(seconds)).toBeWithin(1, 11);
  }
  const left = others.map(({ headers }) =>
    Number(/;r=(\d+);/.exec(headers.get('ratelimit') ?? ';r=1;')?.[1]),
  );
  expect(Math.min(...left)).toBe(0);
  expect(Math.max(...left)).toBeLessThan(max);
}

test('a person has a limit for the API and rows together; others are not affected', async () => {
  const tenant = { tenant: world.tenant.id, role: 'tenant_admin' } as const;
  const [ada, bob] = [await newPerson(world.server, tenant), await newPerson(world.server, tenant)];
  expect((await ada.call('GET', '/api/v1/me')).headers.get('ratelimit')).toBe('"person";r=59;t=10');
  const rows = world.as(bearer(ada), table);
  await exceed('person', [() => ada.call('GET', '/api/v1/nothing'), () => rows('GET', '/nothing')], 404);
  expect((await bob.call('GET', '/api/v1/me')).status).toBe(200);
});

test('a personal access token has a limit of its own', async () => {
  const [first, second] = [await world.pat(world.owner), await world.pat(world.owner)];
  const rows = world.as({ 'x-api-key': first }, table);
  await exceed('token', [() => rows('GET')], 200);
  expect((await world.as({ 'x-api-key': second }, table)('GET')).status).toBe(200);
});

test('requests without a valid credential share the limit of their address', async () => {
  const anonymous = caller(world.server, { authorization: 'Bearer made-up' });
  await exceed('address', [() => anonymous('GET', '/api/v1/me'), () => anonymous('GET', table.path)], 401);
  for (let count = 0; count < 2 * limits.address; count++) {
    const page = await anonymous('GET', count % 2 === 0 ? '/healthz' : '/');
    expect([page.status, page.headers.get('ratelimit')]).toEqual([200, null]);
  }
});

/** More than two windows admit. */
async function untilRefused(kind: keyof typeof limits, call: () => ReturnType<Call>) {
  for (let count = 0; count <= 2 * limits[kind]; count++) {
    const answer = await call();
    if (answer.status !== 429) continue;
    expect(answer.headers.get('ratelimit-policy')).toBe(`"${kind}";q=${limits[kind]};w=10`);
    expect(answer.headers.get('ratelimit')).toBe(`"${kind}";r=0;t=${answer.headers.get('retry-after')}`);
    return answer;
  }
  throw new Error('no request was refused');
}

test('sign-in, git and uploads share the limit of their address too', async () => {
  const anonymous = caller(world.server, {});
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  for (const call of [
    () => anonymous('GET', '/oauth/auth?client_id=svc-console&response_type=code&scope=openid'),
    () => anonymous('POST', '/oauth/device/auth', 'client_id=svc-cli', form),
    () => anonymous('POST', '/oauth/token', 'client_id=svc-cli', form),
    () => anonymous('GET', '/login'),
    () => anonymous('GET', '/login/forgot'),
    () => anonymous('GET', '/git/a/b.git/info/refs?service=git-upload-pack'),
    () => anonymous('PUT', '/uploads/made-up/0', 'x'),
    () => anonymous('PUT', '/sources/made-up', 'x'),
    () => anonymous('GET', '/scim/v2/Users'),
  ])
    await untilRefused('address', call);
});

test('a directory has the limit of a token', async () => {
  const [first, second] = [await newDirectory(world.tenant), await newDirectory(world.tenant)];
  expect(isScimError(await untilRefused('token', () => first.call('GET', '/Users?count=0')))).toBe(true);
  expect((await second.call('GET', '/Users?count=0')).status).toBe(200);
});
