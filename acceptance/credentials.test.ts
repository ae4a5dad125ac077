import { beforeAll, describe, expect, test } from 'bun:test';
import { admin } from './support/commands.ts';
import { type ApiDocument, addressOf, isOfRows, readDocument } from './support/document.ts';
import { type Answered, caller, newApp, newTenant, type Tenant, tokenThrough } from './support/people.ts';
import { until } from './support/until.ts';

let t: Tenant;
let document: ApiDocument;
/** A token that the admin created, for rows, with `read` and `write`. */
let pat: { id: string; secret: string };

beforeAll(async () => {
  t = await newTenant();
  document = await readDocument(t.server);
  pat = (await t.admin.call('POST', `${t.base}/pats`, { name: 'rows', actions: ['read', 'write'] })).body;
});

/** Every path of the API, with this tenant as target, with ids that are well formed. */
function everyAddress(tenantID = t.id) {
  return document.operations.map((operation) => {
    const names = [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
    const params = Object.fromEntries(names.map((name) => [name, Bun.randomUUIDv7()]));
    return { ...operation, address: addressOf(operation, { ...params, tenantID, tenant: tenantID }) };
  });
}

const notOfRows = (tenantID?: string) => everyAddress(tenantID).filter((operation) => !isOfRows(operation));
/** A token for rows lacks the action for these. */
const ofDeployments = () => notOfRows().filter(({ who }) => who.P === 'd');
const withLoginOnly = (tenantID?: string) => notOfRows(tenantID).filter(({ who }) => who.P !== 'd');

async function answersTo(
  credential: Record<string, string>,
  query = '',
  addresses = everyAddress(),
): Promise<string[]> {
  const call = caller(t.server, credential);
  const answers = await Promise.all(
    addresses.map(({ method, address }) => call(method, address + query, bodyFor(method))),
  );
  return [...new Set(answers.map(codeOf))];
}

const bodyFor = (method: string) => (method === 'GET' || method === 'DELETE' ? undefined : {});
const codeOf = ({ status, body }: Answered) => `${status} ${body.code}`;
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const apiKey = (key: string) => ({ 'x-api-key': key });

describe('a personal access token', () => {
  test('is refused at every operation that is not about rows, whatever its owner and scope', async () => {
    const ofMember = await t.member.call('POST', `${t.base}/pats`, { name: 'rows', actions: ['write'] });
    const readOnly = await t.admin.call('POST', `${t.base}/pats`, { name: 'reads' });
    let refused = 0;
    for (const secret of [pat.secret, ofMember.body.secret, readOnly.body.secret]) {
      for (const query of ['', '?dry_run=true', '?nonsense=1']) {
        expect(await answersTo(apiKey(secret), query, withLoginOnly())).toEqual(['403 login_required']);
        expect(await answersTo(apiKey(secret), query, ofDeployments())).toEqual(['403 forbidden']);
        refused += notOfRows().length;
      }
    }
    const call = caller(t.server, apiKey(pat.secret));
    for (const { method, address } of withLoginOnly('no-such-tenant'))
      expect(codeOf(await call(method, address, bodyFor(method)))).toBe('403 login_required');
    console.log(`credentials: ${refused + notOfRows().length} calls with a token for rows, all refused`);
  });

  test('is refused before the body is read', async () => {
    const answer = await caller(t.server, apiKey(pat.secret))('POST', `${t.base}/grants`, '{ not JSON');
    expect(codeOf(answer)).toBe('403 login_required');
  });

  test('is accepted for rows, where an unknown table is 404; an unknown token is 401', async () => {
    const path = `/data/${t.slug}/shop/orders`;
    const rows = async (credential: Record<string, string>, method = 'GET') =>
      codeOf(await caller(t.server, credential)(method, path));
    expect(await rows(apiKey(pat.secret))).toBe('404 not_found');
    expect(await rows(apiKey(pat.secret), 'DELETE')).toBe('404 not_found');
    expect(await rows(bearer(t.member.token))).toBe('404 not_found');
    const revoked = (await t.admin.call('POST', `${t.base}/pats`, { name: 'brief' })).body;
    expect(await rows(apiKey(revoked.secret))).toBe('404 not_found');
    expect((await t.admin.call('DELETE', `${t.base}/pats/${revoked.id}`)).status).toBe(200);
    await until('a revoked token is refused', async () =>
      (await rows(apiKey(revoked.secret))).startsWith('401'),
    );
    for (const key of [...notTokens(), t.admin.token])
      expect([key, await rows(apiKey(key))]).toEqual([key, '401 unauthenticated']);
    expect(await rows({})).toBe('401 unauthenticated');
    expect(await rows(bearer(pat.secret))).toBe('401 unauthenticated');
    expect(await rows({ ...apiKey(pat.secret), ...bearer(t.admin.token) })).toBe('400 ambiguous_credentials');
  });
});

describe('two credentials at once', () => {
  test('are 400 ambiguous_credentials at every operation, valid or not', async () => {
    const pairs = [
      [t.admin.token, pat.secret],
      [t.admin.token, 'nonsense'],
      ['nonsense', pat.secret],
      ['nonsense', ''],
    ] as const;
    for (const [token, key] of pairs)
      expect(await answersTo({ ...bearer(token), ...apiKey(key) })).toEqual(['400 ambiguous_credentials']);
  });
});

describe('no valid credential', () => {
  test('is 401 unauthenticated at every operation, whatever it looks like', async () => {
    const { access_token: brief } = await admin(t.server, [
      'tokens',
      'issue',
      '--user',
      t.admin.id,
      '--ttl',
      '1s',
    ]);
    const credentials: Record<string, string>[] = [
      {},
      { authorization: '' },
      { authorization: 'Bearer' },
      { authorization: `Basic ${btoa('admin:admin')}` },
      { authorization: t.admin.token },
      { authorization: `Bearer ${t.admin.token} ${t.admin.token}` },
      { authorization: `Bearer ${t.admin.token}, Bearer ${t.admin.token}` },
      bearer('nonsense'),
      bearer(t.admin.token.slice(0, -1)),
      bearer(`${t.admin.token}x`),
      bearer(`${t.admin.token.at(0) === 'a' ? 'b' : 'a'}${t.admin.token.slice(1)}`),
      bearer(pat.secret),
      bearer('x'.repeat(2000)),
      apiKey(t.admin.token),
      ...notTokens().map(apiKey),
      { cookie: 'svc_session=nonsense' },
      { cookie: `svc_session=${t.admin.token}` },
    ];
    const call = caller(t.server, bearer(brief!));
    await until('a token of one second ends', async () => (await call('GET', '/api/v1/me')).status === 401);
    credentials.push(bearer(brief!));
    let calls = 0;
    for (const credential of credentials) {
      // With a cookie, a change must come from a page of the console before anything else is checked.
      const page: Record<string, string> = 'cookie' in credential ? { origin: t.server.baseUrl } : {};
      expect([credential, await answersTo({ ...credential, ...page })]).toEqual([
        credential,
        ['401 unauthenticated'],
      ]);
      calls += document.operations.length;
    }
    console.log(`credentials: ${calls} calls without a valid credential, all refused`);
  });

  test('names how to log in, and never whether the tenant exists', async () => {
    const [exists, absent] = await Promise.all(
      [t.id, Bun.randomUUIDv7()].map((id) => caller(t.server, {})('GET', `/api/v1/tenants/${id}`)),
    );
    expect({ ...exists!.body, request_id: '' }).toEqual({ ...absent!.body, request_id: '' });
    expect(exists!.headers.get('www-authenticate')).toStartWith('Bearer');
  });
});

/** Tokens that were never issued, well formed and malformed. */
function notTokens(): string[] {
  const last = pat.secret.at(-1) === 'a' ? 'b' : 'a';
  return [
    '',
    'nonsense',
    'svcpat_',
    `svcpat_${'0'.repeat(36)}`,
    pat.secret.slice(0, -1),
    pat.secret.slice(0, -1) + last,
    `${pat.secret}x`,
    pat.secret.toUpperCase(),
    pat.secret.replace('svcpat_', ''),
    'x'.repeat(2000),
  ];
}

test('svc-admin issues the token of a sign-in through an app: for rows, not for the API, and audited', async () => {
  const app = await newApp(t, { owner: t.admin }, { name: `Through ${Bun.randomUUIDv7()}` });
  await t.admin.call('POST', `${app.base}/tables`, { name: 'notes', columns: ['text:text'] });
  const ref = `${t.slug}/${app.slug}`;
  const call = caller(t.server, bearer(await tokenThrough(t.server, t.admin, ref)));
  expect((await call('GET', `/data/${ref}/notes`)).status).toBe(200);
  expect(codeOf(await call('GET', '/api/v1/me'))).toBe('401 unauthenticated');

  const { items } = (await t.admin.call('GET', `${app.base}/audit?action=tokens.issue`)).body;
  expect(items).toMatchObject([{ action: 'tokens.issue', target: { id: t.admin.id } }]);
  await expect(tokenThrough(t.server, t.member, ref)).rejects.toThrow(/ended with 4: .*cannot sign in/);
  await expect(tokenThrough(t.server, t.admin, `${t.slug}/none`)).rejects.toThrow(/ended with 5: /);
});
