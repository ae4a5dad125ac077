import * as openid from 'openid-client';
import type { TestBrowser } from '../../server/src/identity/provider/browser-testing.ts';
import type { PasswordUser } from './people.ts';
import type { RunningServer } from './server.ts';

export const openidScope = 'openid email profile offline_access';

/** Finds the server by discovery, and verifies the signatures of ID tokens by its published keys. */
export async function discover(
  { baseUrl, ca }: Pick<RunningServer, 'baseUrl' | 'ca'>,
  clientId: string,
): Promise<openid.Configuration> {
  const metadata = { id_token_signed_response_alg: 'ES256' };
  const isSecure = baseUrl.startsWith('https:');
  const secureFetch: openid.CustomFetch = (url, options) =>
    fetch(url, { ...options, tls: { ca } } as RequestInit);
  const config = await openid.discovery(new URL(`${baseUrl}/oauth`), clientId, metadata, openid.None(), {
    execute: isSecure ? [] : [openid.allowInsecureRequests],
    ...(isSecure && { [openid.customFetch]: secureFetch }),
  });
  openid.enableNonRepudiationChecks(config);
  return config;
}

/** A program of somebody else, which receives the redirects. */
export function startProgram() {
  const callbacks: URL[] = [];
  const program = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: (request) => {
      callbacks.push(new URL(request.url));
      return new Response('received');
    },
  });
  const origin = `http://127.0.0.1:${program.port}`;
  return { callbacks, origin, callback: `${origin}/callback`, stop: () => program.stop(true) };
}

interface SignIn {
  browser: TestBrowser;
  callback: string;
  person: PasswordUser;
  /** The button of the consent. */
  answer?: string;
}

/** Signs in with a browser, from the URL of the authorization to the redirect. */
export async function authorize(
  config: openid.Configuration,
  { browser, callback, person, answer = 'Allow' }: SignIn,
) {
  const [verifier, nonce, state] = [
    openid.randomPKCECodeVerifier(),
    openid.randomNonce(),
    openid.randomState(),
  ];
  const url = openid.buildAuthorizationUrl(config, {
    redirect_uri: callback,
    scope: openidScope,
    nonce,
    state,
    code_challenge: await openid.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  });
  let page = await browser.open(url.href);
  if (page.html.includes('name="password"'))
    page = await browser.press(page, 'Sign in', { email: person.email, password: person.password });
  page = await browser.press(page, answer);
  const checks = { pkceCodeVerifier: verifier, expectedNonce: nonce, expectedState: state };
  return { callback: new URL(page.url), checks };
}

export async function signInByCode(config: openid.Configuration, options: SignIn) {
  const { callback, checks } = await authorize(config, options);
  return openid.authorizationCodeGrant(config, callback, { ...checks, idTokenExpected: true });
}

/** The error that the server gave, as the package reports it. */
export const openidErrorOf = async (answer: Promise<unknown>) =>
  answer.then(
    () => null,
    (error: openid.ResponseBodyError | openid.AuthorizationResponseError) => error.error ?? error.code,
  );
