import type { Ctx } from '../context.ts';
import { defineCommand } from '../define-command.ts';
import { CliError } from '../errors.ts';
import { discover, postForm } from '../oauth.ts';
import { configDir, profileName, readConfig, readCredentials, type StoredLogin } from '../profile.ts';
import { changeCredentials, withLock } from '../profile-store.ts';
import { within } from '../waiting.ts';

const revocationMsMax = 10_000;

export default defineCommand({
  words: 'logout',
  summary: 'End the login of the profile, here and on the server',
  kind: 'local',
  output: {
    type: 'object',
    properties: {
      profile: { type: 'string' },
      logged_out: { type: 'boolean' },
      revoked: { type: 'boolean' },
    },
    required: ['profile', 'logged_out', 'revoked'],
  },
  run: async (ctx) => {
    const dir = configDir(ctx.io.env);
    const profile = profileName(ctx.globals.profile, await readConfig(dir));
    const login = (await readCredentials(dir)).profiles[profile];
    if (login === undefined) {
      ctx.note(`Profile ${profile} was not logged in.`);
      return { value: { profile, logged_out: false, revoked: false }, text: () => '' };
    }
    const revoked = await revoke(within(ctx, revocationMsMax), login);
    await withLock(dir, () =>
      changeCredentials(dir, (credentials) => {
        delete credentials.profiles[profile];
      }),
    );
    if (!revoked) ctx.note(`${login.base_url} did not answer; there the login ends by itself.`);
    if (ctx.io.env.SVC_TOKEN) ctx.note('SVC_TOKEN is still set and goes on being used.');
    return {
      value: { profile, logged_out: true, revoked },
      text: () => `Logged out of ${login.base_url}.\n`,
    };
  },
  examples: [{ line: 'svc logout', does: 'Forget the login of the current profile' }],
});

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
