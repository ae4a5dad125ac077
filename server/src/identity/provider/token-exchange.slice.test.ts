import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import {
  accessTokenType,
  subjectTokenTypes,
  tokenExchangeGrantType,
} from '@svc/contract/service-accounts.ts';
import {
  githubClaims,
  gitlabClaims,
  type OidcIssuer,
  startOidcIssuer,
} from '../../../../scripts/oidc-issuer.ts';
import { newApp } from '../../apps/record/testing.ts';
import type { MutationCtx } from '../../core/context.ts';
import { sha256 } from '../../core/values.ts';
import { createIssuerKeys, type IssuerKeys } from '../../drivers/oidc/issuer-keys.ts';
import { newTenant, type TestDatabase, testDatabase, testMutation } from '../../testing.ts';
import { findAppTokenCaller } from '../app-identity/app-tokens.ts';
import { addTrustRule, createServiceAccount, removeTrustRule } from '../app-identity/service-accounts.ts';
import { startTestProvider, type TestProvider } from './provider-testing.ts';

const audience = 'https://svc.example.test';
let database: TestDatabase;
let provider: TestProvider;
let issuer: OidcIssuer;
let other: OidcIssuer;
let issuers: IssuerKeys;
let clock = 0;

beforeAll(async () => {
  [database, issuer, other] = await Promise.all([
    testDatabase(),
    startOidcIssuer(),
    startOidcIssuer('/tenant'),
  ]);
  issuers = createIssuerKeys({
    trusted: [issuer.issuer, other.issuer],
    now: () => Date.now() + clock,
  });
  provider = await startTestProvider(database, { issuers });
});
afterAll(async () => {
  await provider.stop();
  await Promise.all([issuer.stop(), other.stop(), database.close()]);
});

/** A service account that trusts pushes to `main` of one repository. */
async function newAccount(
  claims: Record<string, string> = { repository: 'acme/shop', ref: 'refs/heads/main' },
) {
  const { db } = database;
  const { tenant, member: owner } = await newTenant(db);
  const app = await newApp(db, tenant, owner);
  const context = { tenant: { ...tenant, role: 'tenant_member' as const }, app };
  const act = <T>(useCase: (ctx: MutationCtx & typeof context) => Promise<T>) =>
    testMutation(db, owner, useCase, { context }).then(({ value }) => value);
  const { id } = await act((ctx) => createServiceAccount(ctx, { name: 'ci', actions: ['tables', 'deploy'] }));
  const rule = { issuer: issuer.issuer, claims };
  const { trust } = await act((ctx) =>
    addTrustRule(ctx, { account: id, rule }, { baseUrl: audience, issuers }),
  );
  const removeTrust = () => act((ctx) => removeTrustRule(ctx, { account: 'ci', ruleId: trust[0]!.id }));
  return { id, name: `${tenant.slug}/${app.slug}/ci`, app, removeTrust };
}

function exchange(account: string, subject_token: string, more: Record<string, string> = {}) {
  return provider.post('/oauth/token', {
    grant_type: tokenExchangeGrantType,
    client_id: 'svc-cli',
    service_account: account,
    subject_token,
    subject_token_type: subjectTokenTypes[0],
    ...more,
  });
}

const push = (branch = 'main', repository = 'acme/shop') => githubClaims(repository, branch, audience);

describe('a token of a trusted issuer', () => {
  test('is exchanged for one of the service account, for 15 minutes and with its actions', async () => {
    const account = await newAccount();
    for (const name of [account.id, account.name]) {
      const { status, body } = await exchange(name, await issuer.sign(push()));
      expect([status, body]).toEqual([
        200,
        {
          access_token: expect.stringMatching(/^svcsat_/),
          issued_token_type: accessTokenType,
          token_type: 'Bearer',
          expires_in: 900,
          scope: 'tables deploy',
        },
      ]);
      const found = await findAppTokenCaller(database.db, sha256(body.access_token));
      expect(found?.value.caller).toMatchObject({
        kind: 'service_account',
        userId: account.id,
        name: `service account ${account.app.slug}/ci`,
        scope: { apps: [account.app.id], actions: ['tables', 'deploy'] },
      });
    }
    await account.removeTrust();
    expect((await exchange(account.id, await issuer.sign(push()))).body.error).toBe('invalid_grant');
  });

  test('of GitLab, signed with an elliptic curve, is accepted by its project', async () => {
    const { id } = await newAccount({ project_path: 'acme/*', ref: 'main', ref_type: 'branch' });
    const sign = (project: string, branch: string) =>
      issuer.sign(gitlabClaims(project, branch, audience), { alg: 'ES256' });
    expect((await exchange(id, await sign('acme/web/shop', 'main'))).status).toBe(200);
    expect((await exchange(id, await sign('acme/web/shop', 'other'))).status).toBe(400);
    expect((await exchange(id, await sign('acmes/shop', 'main'))).status).toBe(400);
  });

  test('ends with the rule that accepted it', async () => {
    const { id, removeTrust } = await newAccount();
    const { body } = await exchange(id, await issuer.sign(push()));
    expect(await findAppTokenCaller(database.db, sha256(body.access_token))).not.toBeNull();
    await removeTrust();
    expect(await findAppTokenCaller(database.db, sha256(body.access_token))).toBeNull();
  });
});

describe('is refused with one answer:', () => {
  const now = Math.floor(Date.now() / 1000);
  const segment = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const cases: Record<string, () => Promise<string> | string> = {
    'another audience': () => issuer.sign({ ...push(), aud: 'https://elsewhere.example' }),
    'no audience': () => issuer.sign({ ...push(), aud: undefined }),
    'an expired token': () => issuer.sign({ ...push(), exp: now - 60 }),
    'a token without an end': () => issuer.sign({ ...push(), exp: undefined }),
    'a token that is not valid yet': () => issuer.sign({ ...push(), nbf: now + 600 }),
    'another repository': () => issuer.sign(push('main', 'acme/shop2')),
    'a repository whose name contains the trusted one': () => issuer.sign(push('main', 'evil/acme/shop')),
    'another branch': () => issuer.sign(push('feature')),
    'a claim of another type': () => issuer.sign({ ...push(), repository: ['acme/shop'] }),
    'another trusted issuer': () => other.sign(push()),
    'the name of the issuer with a key of somebody else': () => other.sign({ ...push(), iss: issuer.issuer }),
    'the name and the key id of the issuer with another key': () =>
      other.sign(
        { ...push(), iss: issuer.issuer },
        { key: { ...other.keys()[0]!, kid: issuer.keys()[0]!.kid } },
      ),
    'no signature': () =>
      `${segment({ alg: 'none' })}.${segment({ ...push(), iss: issuer.issuer, exp: now + 600 })}.`,
    'a signature with the public key as a secret': async () => {
      const key = JSON.stringify(issuer.keys()[0]!.jwk);
      const head = `${segment({ alg: 'HS256', kid: issuer.keys()[0]!.kid })}.${segment({ ...push(), iss: issuer.issuer, exp: now + 600 })}`;
      return `${head}.${new Bun.CryptoHasher('sha256', key).update(head).digest('base64url')}`;
    },
    'another payload under the signature': async () => {
      const [head, , signature] = (await issuer.sign(push('feature'))).split('.');
      return `${head}.${segment({ ...push(), iss: issuer.issuer, exp: now + 600 })}.${signature}`;
    },
    'no JWT': () => 'nonsense',
  };
  test.each(Object.keys(cases))('%s', async (name) => {
    const account = await newAccount();
    const { status, body } = await exchange(account.id, await cases[name]!());
    expect([status, body]).toEqual([
      400,
      {
        error: 'invalid_grant',
        error_description: 'no trust rule of the service account accepts this subject token',
      },
    ]);
  });

  test.each(['acme/shop/ci', Bun.randomUUIDv7(), 'x/y', "a'/b/c"])(
    'an unknown service account: %p',
    async (name) => {
      const { status, body } = await exchange(name, await issuer.sign(push()));
      expect([status, body.error]).toEqual([400, 'invalid_grant']);
    },
  );

  test('but a malformed request is named', async () => {
    const { id } = await newAccount();
    const saml = 'urn:ietf:params:oauth:token-type:saml2';
    const malformed: Record<string, string>[] = [
      { subject_token_type: saml },
      { requested_token_type: saml },
      { subject_token: '' },
      { service_account: '' },
    ];
    for (const more of malformed)
      expect((await exchange(id, await issuer.sign(push()), more)).body.error).toBe('invalid_request');
  });
});

describe('the keys of an issuer', () => {
  test('are cached, and replaced when a token has an unknown key', async () => {
    const { id } = await newAccount();
    const old = await issuer.sign(push());
    expect((await exchange(id, old)).status).toBe(200);
    const before = issuer.requests.length;
    for (let n = 0; n < 5; n++) expect((await exchange(id, await issuer.sign(push()))).status).toBe(200);
    expect(issuer.requests.length).toBe(before);
    await issuer.replaceKeys();
    clock += 60_000;
    expect((await exchange(id, await issuer.sign(push()))).status).toBe(200);
    expect((await exchange(id, old)).status).toBe(400);
    // Tokens with made-up keys do not make the server ask again and again.
    const asked = issuer.requests.length;
    for (let n = 0; n < 5; n++) expect((await exchange(id, old)).status).toBe(400);
    expect(issuer.requests.length).toBe(asked);
  });

  test('are not taken from a document of another issuer, a redirect or an endless answer', async () => {
    const { id } = await newAccount();
    const discovery = '/.well-known/openid-configuration';
    const answers: Record<string, () => Response> = {
      'another issuer': () => Response.json({ issuer: other.issuer, jwks_uri: `${other.issuer}/jwks` }),
      redirect: () => Response.redirect(`${other.issuer}${discovery}`),
      'private address': () =>
        Response.json({ issuer: issuer.issuer, jwks_uri: 'http://169.254.169.254/latest/meta-data' }),
      endless: () => new Response('x'.repeat(1024 * 1024)),
      failure: () => new Response(null, { status: 500 }),
    };
    for (const answer of Object.values(answers)) {
      issuer.answers.set(discovery, answer);
      clock += 11 * 60_000;
      expect((await exchange(id, await issuer.sign(push()))).status).toBe(400);
    }
    issuer.answers.delete(discovery);
    clock += 60_000;
    expect((await exchange(id, await issuer.sign(push()))).status).toBe(200);
  });
});
