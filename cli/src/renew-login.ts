import type { Ctx } from './context.ts';
import { CliError, loginLine } from './errors.ts';
import { asTokens, discover, postForm, type Tokens } from './oauth.ts';
import { type Credentials, credentialsFile, readProfiles, type StoredLogin } from './profile.ts';
import { changeCredentials, withLock } from './profile-store.ts';
import { within } from './waiting.ts';

/** Shorter than the age at which others take the lock for abandoned. */
const refreshMsMax = 30_000;

/**
 * Gets a new access token for a stored login. Refresh tokens are used once, so only one process may do it at a
 * time: whoever waited for the lock finds the other's new login and takes that.
 */
export async function renewLogin(
  ctx: Ctx,
  input: { dir: string; profile: string; used: StoredLogin },
): Promise<StoredLogin> {
  const { dir, profile, used } = input;
  if (used.refresh_token === undefined) throw ended(ctx);
  return withLock(dir, ctx.signal, async () => {
    const stored = (await readProfiles<Credentials>(dir, credentialsFile)).profiles[profile];
    if (stored === undefined) throw ended(ctx);
    if (stored.access_token !== used.access_token) return stored;
    const renewed = await refresh(within(ctx, refreshMsMax), stored);
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
  if (!answer.ok) throw ended(ctx, answer.detail);
  return storedLogin(login.base_url, asTokens(answer.body), ctx.io.now(), login.refresh_token);
}

export function storedLogin(
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

function ended(ctx: Ctx, detail?: string): CliError {
  return new CliError('not_logged_in', `Your login has ended${detail === undefined ? '' : `: ${detail}`}.`, {
    next: `Run ${loginLine(ctx.globals.profile)}.`,
  });
}
