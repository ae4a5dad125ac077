import { defineCommand } from '../define-command.ts';
import { deviceFlow } from '../device-flow.ts';
import { localLogin } from '../local-login.ts';
import { loginOutput } from '../login-output.ts';
import { saveLogin } from '../save-login.ts';
import { tokenFromInput } from '../token-login.ts';

export default defineCommand({
  words: 'login',
  summary: 'Log in, in a browser on this or another device',
  description:
    'Prints an address and a code; whoever opens the address and enters the code signs this terminal in. --timeout bounds the wait (10m).',
  kind: 'local',
  timeoutDefault: '10m',
  flags: {
    local: {
      type: 'boolean',
      excludes: ['token-stdin'],
      summary: 'As the first admin of the server on this machine, by the secret in its data folder',
    },
    'token-stdin': { type: 'boolean', summary: 'With an access token read from standard input' },
    'no-browser': { type: 'boolean', summary: 'Do not open a browser' },
  },
  output: loginOutput,
  run: async (ctx, { flags }) => {
    const session = await ctx.session();
    if (flags.local) return saveLogin(ctx, session, await localLogin(ctx));
    if (flags['token-stdin']) return saveLogin(ctx, session, await tokenFromInput(ctx, session.baseUrl));
    const tokens = await deviceFlow(ctx, session.baseUrl, { browser: !flags['no-browser'] });
    return saveLogin(ctx, session, { baseUrl: session.baseUrl, tokens });
  },
  examples: [
    { line: 'svc login', does: 'Sign in with a browser' },
    { line: 'svc login --local', does: 'On the machine that runs the server' },
    {
      line: 'svc login --profile staging --no-browser',
      does: 'Another profile, on a machine without a browser',
    },
  ],
});
