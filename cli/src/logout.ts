import type { Result } from './command.ts';
import type { Ctx } from './context.ts';
import { CliError } from './errors.ts';
import { discover, postForm } from './oauth.ts';
import {
  type Config,
  type Credentials,
  configDir,
  configFile,
  credentialsFile,
  profileName,
  readProfiles,
  type StoredLogin,
} from './profile.ts';
import { changeCredentials, withLock } from './profile-store.ts';
import { within } from './waiting.ts';

const revocationMsMax = 10_000;

/** Ends the login of the profile, here in any case and on the server when it answers. */
export async function logout(ctx: Ctx): Promise<Result> {
  const dir = configDir(ctx.io.env);
  const profile = profileName(ctx.globals.profile, await readProfiles<Config>(dir, configFile));
  const login = (await readProfiles<Credentials>(dir, credentialsFile)).profiles[profile];
  if (ctx.io.env.SVC_TOKEN) ctx.note('SVC_TOKEN is set and goes on being used.');
  if (login === undefined) {
    ctx.note(`Profile ${profile} was not logged in.`);
    return { value: { profile, logged_out: false, revoked: false }, text: () => '' };
  }
  const revoked = await revoke(within(ctx, revocationMsMax), login);
  await withLock(dir, ctx.signal, () =>
    changeCredentials(dir, (credentials) => {
      delete credentials.profiles[profile];
    }),
  );
  if (!revoked) ctx.note(`${login.base_url} did not confirm it; there the login ends by itself.`);
  return {
    value: { profile, logged_out: true, revoked },
    text: () => `Logged out of ${login.base_url}.\n`,
  };
}

/** A server that is away must not keep anybody logged in here. */
async function revoke(ctx: Ctx, login: StoredLogin): Promise<boolean> {
  try {
    const endpoint = await discover(ctx, login.base_url);
    const token = login.refresh_token ?? login.access_token;
    const hint = login.refresh_token === undefined ? 'access_token' : 'refresh_token';
    const answer = await postForm(ctx, endpoint('revocation_endpoint'), { token, token_type_hint: hint });
    return answer.ok;
  } catch (cause) {
    if (cause instanceof CliError && cause.code === 'interrupted') throw cause;
    return false;
  }
}
