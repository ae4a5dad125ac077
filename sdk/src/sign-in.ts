import { notSignedInError } from './errors.ts';
import { createExclusive } from './exclusive.ts';
import { createProvider, SignInError, type Tokens } from './provider.ts';
import { base64Url, randomText } from './random-text.ts';
import { defaultStorage, type SignInStorage, tabStorage } from './storage.ts';

export { SignInError } from './provider.ts';
export type { SignInStorage } from './storage.ts';

export interface SignInOptions {
  baseUrl: string;
  appId: string;
  redirectUri: string;
  storage?: SignInStorage;
  fetch?: (url: string, init: RequestInit) => Promise<Response>;
  navigate?: (url: string) => void;
  /** Applies to each request to the platform. Default: 60 seconds. */
  timeoutMs?: number;
}

export interface User {
  id: string;
  email: string;
  name: string;
}

export interface SignedIn {
  user: User;
  returnTo: string | null;
}

export interface SignIn {
  signIn(options?: { returnTo?: string; loginHint?: string }): Promise<void>;
  /** Call on page load: completes a sign-in that redirected to the page, or returns null. */
  handleRedirect(url?: string): Promise<SignedIn | null>;
  getUser(): User | null;
  /** Returns a valid token, renewed if necessary; `insteadOf`: a token that the server rejected. */
  getToken(options?: { insteadOf?: string }): Promise<string>;
  /** Ends the sign-in locally at once, then at the platform; rejects if the platform does not respond. */
  signOut(): Promise<void>;
  onChange(listener: (user: User | null) => void): () => void;
}

interface StoredSignIn extends Tokens {
  user: User;
}

interface Pending {
  state: string;
  nonce: string;
  verifier: string;
  returnTo: string | null;
}

const renewedBeforeMs = 30_000;
const answerParameters = ['code', 'state', 'iss', 'error', 'error_description', 'session_state'];

export function createSignIn(options: SignInOptions): SignIn {
  const { appId, redirectUri } = options;
  const storage = options.storage ?? defaultStorage();
  const pendingStorage = tabStorage() ?? storage;
  const provider = createProvider({
    baseUrl: options.baseUrl.replace(/\/+$/, ''),
    appId,
    fetch: options.fetch ?? ((url, init) => fetch(url, init)),
    timeoutMs: options.timeoutMs,
  });
  const key = `svc.sign-in.${appId}`;
  const pendingKey = `${key}.pending`;
  const exclusive = createExclusive(key);
  const listeners = new Set<(user: User | null) => void>();
  let handling: Promise<SignedIn | null> | null = null;

  const readStored = () => parseOrNull<StoredSignIn>(storage.getItem(key));
  const getUser = () => readStored()?.user ?? null;
  let notifiedUserId = getUser()?.id;
  const notify = (user: User | null) => {
    if (user?.id === notifiedUserId) return;
    notifiedUserId = user?.id;
    for (const listener of listeners) listener(user);
  };
  const store = (next: StoredSignIn | null) => {
    if (next) storage.setItem(key, JSON.stringify(next));
    else storage.removeItem(key);
  };
  // The `storage` event fires only in other tabs.
  globalThis.addEventListener?.('storage', (event) => {
    if ('key' in event && (event.key === key || event.key === null)) notify(getUser());
  });

  async function redeem(url: URL): Promise<SignedIn> {
    const answer = Object.fromEntries(url.searchParams);
    const pending = parseOrNull<Pending>(pendingStorage.getItem(pendingKey));
    pendingStorage.removeItem(pendingKey);
    if (!pending || pending.state !== answer.state)
      throw new SignInError(
        'state_mismatch',
        'This sign-in did not start in this browser tab. Sign in again.',
      );
    if (answer.iss !== undefined && answer.iss !== provider.issuer)
      throw new SignInError(
        'issuer_mismatch',
        `The response comes from ${answer.iss}, not from ${provider.issuer}.`,
      );
    if (answer.error !== undefined)
      throw new SignInError(answer.error, answer.error_description ?? answer.error);
    const { verifier, nonce, returnTo } = pending;
    const { tokens, subject } = await provider.redeem({
      code: answer.code ?? '',
      verifier,
      redirectUri,
      nonce,
    });
    const user = await provider.userOf(tokens.accessToken);
    if (user.id !== subject)
      throw new SignInError('subject_mismatch', 'The ID token and the user info are of different people.');
    await exclusive(async () => store({ ...tokens, user }));
    notify(user);
    return { user, returnTo };
  }

  async function renewToken(stale: string, mayUseOld: boolean): Promise<string> {
    return exclusive(async () => {
      const now = readStored();
      if (!now) throw notSignedInError();
      if (now.accessToken !== stale) return now.accessToken;
      try {
        const tokens = await provider.renew(now.refreshToken);
        store({ ...now, ...tokens });
        return tokens.accessToken;
      } catch (error) {
        if (error instanceof SignInError) {
          store(null);
          notify(null);
          throw notSignedInError();
        }
        if (mayUseOld && now.expiresAt > Date.now()) return now.accessToken;
        throw error;
      }
    });
  }

  return {
    getUser,

    async signIn({ returnTo, loginHint } = {}) {
      if (!globalThis.crypto?.subtle)
        throw new SignInError('insecure_context', 'Signing in needs a page over https, or of this machine.');
      const pending: Pending = {
        state: randomText(),
        nonce: randomText(),
        verifier: randomText(),
        returnTo: returnTo ?? null,
      };
      const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(pending.verifier));
      pendingStorage.setItem(pendingKey, JSON.stringify(pending));
      const { state, nonce } = pending;
      const challenge = base64Url(new Uint8Array(digest));
      const url = provider.signInUrl({ state, nonce, challenge, redirectUri, loginHint });
      if (options.navigate) options.navigate(url);
      else location.assign(url);
    },

    handleRedirect(href = globalThis.location?.href ?? '') {
      const url = URL.canParse(href) ? new URL(href) : null;
      const isAnswer =
        url?.searchParams.has('state') && (url.searchParams.has('code') || url.searchParams.has('error'));
      if (!url || !isAnswer) return handling ?? Promise.resolve(null);
      forgetAnswer(url);
      handling = redeem(url).finally(() => {
        handling = null;
      });
      return handling;
    },

    async getToken({ insteadOf } = {}) {
      const now = readStored();
      if (!now) throw notSignedInError();
      const isFresh = now.expiresAt - Date.now() > renewedBeforeMs;
      if (now.accessToken !== insteadOf && isFresh) return now.accessToken;
      return renewToken(now.accessToken, now.accessToken !== insteadOf);
    },

    async signOut() {
      const ended = await exclusive(async () => {
        const now = readStored();
        store(null);
        return now;
      });
      if (!ended) return;
      notify(null);
      await provider.revoke(ended.refreshToken);
    },

    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** The code works once: a reload would send it again, and a shared URL would reveal it. */
function forgetAnswer(url: URL): void {
  if (globalThis.location?.href !== url.href) return;
  const clean = new URL(url);
  for (const name of answerParameters) clean.searchParams.delete(name);
  history.replaceState(history.state, '', clean);
}

function parseOrNull<T>(text: string | null): T | null {
  try {
    return text === null ? null : JSON.parse(text);
  } catch {
    return null;
  }
}
