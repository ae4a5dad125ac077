import { defineCommand } from '../define-command.ts';

export default defineCommand({
  words: 'login',
  summary: 'Log in, in a browser on this or another device',
  description:
    'Prints an address and a code; whoever opens the address and confirms the code signs this terminal in. --timeout bounds the wait (10m).',
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
  output: async () => (await import('../login-output.ts')).loginOutput,
  run: async (ctx, { flags }) => {
    const { deviceLogin, localLogin, saveLogin, tokenLogin } = await import('../login.ts');
    if (flags.local) return saveLogin(ctx, await localLogin(ctx));
    if (flags['token-stdin']) return saveLogin(ctx, await tokenLogin(ctx));
    return saveLogin(ctx, await deviceLogin(ctx, { browser: !flags['no-browser'] }));
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
