import type { Ctx } from '../context.ts';
import { CliError } from '../framework/errors.ts';
import { discover, parseTokens, postForm, type Tokens } from './oauth.ts';
import { type Credentials, credentialsFile, readProfiles, type StoredLogin } from './profile.ts';
import { changeCredentials, withLock } from './profile-store.ts';
import { loginCommand } from './request.ts';
import { withTimeout } from './waiting.ts';

/** Must stay shorter than `staleMsMin`, the age of a stale lock. */
const refreshMsMax = 30_000;

/** Renews the access token under a lock: refresh tokens work once, and a waiting process uses the new login. */
export async function renewLogin(
  ctx: Ctx,
  input: { dir: string; profile: string; used: StoredLogin },
): Promise<StoredLogin> {
  const { dir, profile, used } = input;
  if (used.refresh_token === undefined) throw loginEndedError(ctx);
  return withLock(dir, ctx.signal, async () => {
    const stored = (await readProfiles<Credentials>(dir, credentialsFile)).profiles[profile];
    if (stored === undefined) throw loginEndedError(ctx);
    if (stored.access_token !== used.access_token) return stored;
    const renewed = await refresh(withTimeout(ctx, refreshMsMax), stored);
    await changeCredentials(dir, (credentials) => {
      credentials.profiles[profile] = renewed;
    });
    return renewed;
  });
}

async function refresh(ctx: Ctx, login: StoredLogin): Promise<StoredLogin> {
  const endpoint = await discover(ctx, login.base_url);
  const answer = await postForm(ctx, endpoint('token_endpoint'), {
    grant_type: 'refresh_token',
    refresh_token: login.refresh_token ?? '',
  });
  if (!answer.ok) throw loginEndedError(ctx, answer.detail);
  return toStoredLogin(login.base_url, parseTokens(answer.body), ctx.io.now(), login.refresh_token);
}

export function toStoredLogin(
  baseUrl: string,
  tokens: Tokens,
  now: Date,
  formerRefreshToken?: string,
): StoredLogin {
  const refreshToken = tokens.refresh_token ?? formerRefreshToken;
  return {
    base_url: baseUrl,
    access_token: tokens.access_token,
    ...(refreshToken !== undefined && { refresh_token: refreshToken }),
    expires_at: new Date(now.getTime() + tokens.expires_in * 1000).toISOString(),
  };
}

function loginEndedError(ctx: Ctx, detail?: string): CliError {
  return new CliError(
    'not_logged_in',
    `Your login has expired${detail === undefined ? '' : `: ${detail}`}.`,
    {
      next: `Run ${loginCommand(ctx.globals.profile)}.`,
    },
  );
}
