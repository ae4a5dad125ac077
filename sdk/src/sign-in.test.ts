import { expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { createClient } from './client.ts';
import { SvcError, SvcNetworkError } from './errors.ts';
import { createSignIn, SignInError, type SignInStorage, type User } from './sign-in.ts';
import { emptyPage, problem, type Seen, scriptedServer } from './testing.ts';

const server = scriptedServer();
const appId = '01990000-0000-7000-8000-000000000001';
const redirectUri = 'http://localhost:5173/back';
const person = { sub: 'u1', email: 'a@example.test', name: 'Ann' };

function memory(): SignInStorage & { items: Map<string, string> } {
  const items = new Map<string, string>();
  return {
    items,
    getItem: (key) => items.get(key) ?? null,
    setItem: (key, value) => void items.set(key, value),
    removeItem: (key) => void items.delete(key),
  };
}

/** A provider that issues numbered tokens; `claims` go into the identity. */
function provider(options: { claims?: object; seconds?: number; from?: number } = {}) {
  let issued = options.from ?? 0;
  return ({ path }: Seen): Response => {
    if (path === '/oauth/me') return Response.json(person);
    if (path === '/oauth/token/revocation') return new Response('');
    if (path.startsWith('/data/')) return emptyPage();
    const claims = {
      iss: `${server.baseUrl}/oauth`,
      aud: appId,
      sub: 'u1',
      nonce: lastNonce,
      ...options.claims,
    };
    const payload = Buffer.from(JSON.stringify(claims)).toString('base64url');
    issued++;
    return Response.json({
      access_token: `a${issued}`,
      refresh_token: `r${issued}`,
      expires_in: options.seconds ?? 3600,
      id_token: `x.${payload}.y`,
    });
  };
}

let lastNonce = '';

function newSignIn(storage = memory()) {
  const visited: URL[] = [];
  const signIn = createSignIn({
    baseUrl: server.baseUrl,
    appId,
    redirectUri,
    storage,
    navigate: (url) => {
      visited.push(new URL(url));
      lastNonce = visited.at(-1)?.searchParams.get('nonce') ?? '';
    },
  });
  const leave = async (returnTo?: string) => {
    await signIn.signIn(returnTo === undefined ? {} : { returnTo });
    return visited.at(-1)!;
  };
  return { signIn, leave, storage };
}

const backWith = (url: URL, fields: Record<string, string> = {}) =>
  `${redirectUri}?${new URLSearchParams({ code: 'c1', state: url.searchParams.get('state') ?? '', ...fields })}`;

async function signedIn(storage = memory()) {
  const it = newSignIn(storage);
  const url = await it.leave();
  await it.signIn.handleRedirect(backWith(url));
  return it;
}

const caught = (attempt: Promise<unknown>) =>
  attempt.then(
    () => null,
    (error: unknown) => error,
  );

test('a sign-in uses PKCE, state and nonce, and is completed on return', async () => {
  server.answerWith(provider());
  const { signIn, leave, storage } = newSignIn();
  const changes: (User | null)[] = [];
  signIn.onChange((user) => changes.push(user));
  expect(signIn.getUser()).toBeNull();
  expect(await signIn.handleRedirect('http://localhost:5173/back?page=2')).toBeNull();

  const url = await leave('/todos');
  expect(url.href.startsWith(`${server.baseUrl}/oauth/auth?`)).toBe(true);
  const asked = Object.fromEntries(url.searchParams);
  expect(asked).toMatchObject({
    client_id: appId,
    response_type: 'code',
    redirect_uri: redirectUri,
    code_challenge_method: 'S256',
    scope: 'openid email profile offline_access',
  });
  for (const name of ['state', 'nonce', 'code_challenge']) expect(asked[name]).toMatch(/^[\w-]{43}$/);

  const user = { id: 'u1', email: 'a@example.test', name: 'Ann' };
  const iss = `${server.baseUrl}/oauth`;
  expect(await signIn.handleRedirect(backWith(url, { iss }))).toEqual({ user, returnTo: '/todos' });
  const form = new URLSearchParams(server.seen[0]!.body);
  expect(Object.fromEntries(form)).toMatchObject({ client_id: appId, code: 'c1', redirect_uri: redirectUri });
  const verifier = form.get('code_verifier') ?? '';
  expect(createHash('sha256').update(verifier).digest('base64url')).toBe(asked.code_challenge!);
  expect(signIn.getUser()).toEqual(user);
  expect(await signIn.getToken()).toBe('a1');
  expect(changes).toEqual([user]);
  expect([...storage.items.keys()]).toEqual([`svc.sign-in.${appId}`]);
});

test('an answer to no request, or to another one, signs nobody in', async () => {
  const cases: [string, Record<string, string>, object][] = [
    ['state_mismatch', { state: 'other' }, {}],
    ['issuer_mismatch', { iss: 'https://evil.test/oauth' }, {}],
    ['access_denied', { error: 'access_denied' }, {}],
    ['identity_mismatch', {}, { nonce: 'other' }],
    ['identity_mismatch', {}, { aud: 'other' }],
    ['identity_mismatch', {}, { iss: 'https://evil.test' }],
    ['subject_mismatch', {}, { sub: 'u2' }],
  ];
  for (const [code, fields, claims] of cases) {
    server.answerWith(provider({ claims }));
    const { signIn, leave } = newSignIn();
    const url = await leave();
    const error = await caught(signIn.handleRedirect(backWith(url, fields)));
    expect(error).toBeInstanceOf(SignInError);
    expect([code, (error as SignInError).code]).toEqual([code, code]);
    expect(signIn.getUser()).toBeNull();
    // The sign-in is complete; no sign-in waits for a repeated answer.
    expect(await caught(signIn.handleRedirect(backWith(url)))).toMatchObject({ code: 'state_mismatch' });
  }
});

test('a token that is about to expire is renewed once, for all callers', async () => {
  server.answerWith(provider({ seconds: 10 }));
  const { signIn, storage } = await signedIn();
  server.answerWith(provider({ from: 1 }));
  const other = newSignIn(storage).signIn;
  const tokens = await Promise.all([signIn.getToken(), signIn.getToken(), signIn.getToken()]);
  expect(tokens).toEqual(['a2', 'a2', 'a2']);
  expect(server.seen.length).toBe(1);
  expect(new URLSearchParams(server.seen[0]!.body).get('refresh_token')).toBe('r1');
  expect(await other.getToken()).toBe('a2');
});

test('a token that the row API rejects is renewed, and the call repeated', async () => {
  server.answerWith(provider());
  const { signIn } = await signedIn();
  const client = createClient({ baseUrl: server.baseUrl, tenant: 't', app: 'a', auth: signIn });
  const answer = provider();
  server.answerWith(
    () => problem(401, 'unauthenticated'),
    () => Response.json({ access_token: 'a9', refresh_token: 'r9', expires_in: 3600 }),
    answer,
  );
  await client.table('todos').list();
  expect(server.seen.map(({ path, headers }) => [path, headers.get('authorization')])).toEqual([
    ['/data/t/a/todos', 'Bearer a1'],
    ['/oauth/token', null],
    ['/data/t/a/todos', 'Bearer a9'],
  ]);
});

test('a revoked sign-in ends; an unreachable platform does not end one', async () => {
  server.answerWith(provider({ seconds: -1 }));
  const { signIn } = await signedIn();
  const changes: (User | null)[] = [];
  signIn.onChange((user) => changes.push(user));
  server.answerWith(() => new Response('down', { status: 503 }));
  expect(await caught(signIn.getToken())).toMatchObject({ code: 'unexpected_answer', status: 503 });
  expect(signIn.getUser()).not.toBeNull();
  server.answerWith(() => Response.json({ error: 'invalid_grant' }, { status: 400 }));
  const error = await caught(signIn.getToken());
  expect(error).toBeInstanceOf(SvcError);
  expect((error as SvcError).code).toBe('unauthenticated');
  expect([signIn.getUser(), changes]).toEqual([null, [null]]);
  expect(await caught(signIn.getToken())).toMatchObject({ code: 'unauthenticated' });
});

test('a token with some seconds left is used while it cannot be renewed', async () => {
  server.answerWith(provider({ seconds: 20 }));
  const { signIn } = await signedIn();
  server.answerWith(() => new Response('down', { status: 503 }));
  expect(await signIn.getToken()).toBe('a1');
  expect(await caught(signIn.getToken({ insteadOf: 'a1' }))).toMatchObject({ status: 503 });
});

test('a renewal without an answer is repeated once', async () => {
  server.answerWith(provider({ seconds: -1 }));
  const { storage } = await signedIn();
  let faults = 1;
  const shaky = createSignIn({
    baseUrl: server.baseUrl,
    appId,
    redirectUri,
    storage,
    fetch: (url, init) => (faults-- > 0 ? Promise.reject(new TypeError('lost')) : fetch(url, init)),
  });
  server.answerWith(provider({ from: 1 }));
  expect(await shaky.getToken()).toBe('a2');
});

test('signing out deletes and revokes the sign-in, also during a renewal', async () => {
  server.answerWith(provider({ seconds: -1 }));
  const { signIn, storage } = await signedIn();
  server.answerWith(provider());
  const renewal = signIn.getToken();
  await signIn.signOut();
  await caught(renewal);
  expect([...storage.items]).toEqual([]);
  const revoked = server.seen.filter(({ path }) => path === '/oauth/token/revocation');
  expect(revoked.length).toBe(1);
  expect(signIn.getUser()).toBeNull();
  await signIn.signOut();
  expect(server.seen.filter(({ path }) => path === '/oauth/token/revocation').length).toBe(1);
});

test('signing out without a connection deletes the sign-in, and reports that it was not revoked', async () => {
  server.answerWith(provider());
  const { storage } = await signedIn();
  const offline = createSignIn({
    baseUrl: server.baseUrl,
    appId,
    redirectUri,
    storage,
    fetch: () => Promise.reject(new TypeError('offline')),
  });
  expect(await caught(offline.signOut())).toBeInstanceOf(SvcNetworkError);
  expect(offline.getUser()).toBeNull();
});
