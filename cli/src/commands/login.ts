import { ProblemError } from '@svc/contract/client.ts';
import { getMe } from '@svc/contract/identity.ts';
import { defineCommand, objectSchema } from '../command.ts';
import type { Ctx } from '../context.ts';
import { CliError } from '../framework/errors.ts';

export const loginCommand = defineCommand({
  words: 'login',
  summary: 'Log in with a browser on this or another device',
  description:
    'Prints a URL and a code; whoever opens the URL and confirms the code signs in this terminal. --timeout limits ' +
    'the wait (10m).',
  kind: 'local',
  timeoutDefault: '10m',
  flags: {
    local: {
      type: 'boolean',
      excludes: ['token-stdin'],
      summary: 'Log in as the first admin of the server on this machine, with the secret in its data folder',
    },
    'token-stdin': { type: 'boolean', summary: 'Log in with an access token from standard input' },
    'no-browser': { type: 'boolean', summary: 'Do not open a browser' },
  },
  output: async () => (await import('../session/login.ts')).loginOutput,
  run: async (ctx, { flags }) => {
    const { deviceLogin, localLogin, saveLogin, tokenLogin } = await import('../session/login.ts');
    if (flags.local) return saveLogin(ctx, await localLogin(ctx));
    if (flags['token-stdin']) return saveLogin(ctx, await tokenLogin(ctx));
    return saveLogin(ctx, await deviceLogin(ctx, { browser: !flags['no-browser'] }));
  },
  examples: {
    '': 'Log in with a browser',
    '--local': 'Log in on the machine that runs the server',
    '--profile staging --no-browser': 'Log in to another profile on a machine without a browser',
  },
});

export const logoutCommand = defineCommand({
  words: 'logout',
  summary: 'End the login of the profile, here and on the server',
  kind: 'local',
  output: objectSchema({ profile: 'string', logged_out: 'boolean', revoked: 'boolean' }),
  run: async (ctx) => (await import('../session/login.ts')).logout(ctx),
  examples: { '': 'Delete the login of the current profile' },
});

export const whoamiCommand = defineCommand({
  words: 'whoami',
  summary: 'Show your user, tenant and server',
  kind: 'read',
  endpoint: getMe,
  output: async () => (await import('../session/login.ts')).whoamiOutput,
  present: (ctx, { credential, tenants, ...user }) =>
    ctx.session().then(async ({ baseUrl, profile, tenant }) => {
      const selected = ctx.globals.tenant ?? (await tenantOfFolder(ctx));
      const requested = selected ?? tenant?.id ?? (tenants.length === 1 ? tenants[0]?.id : undefined);
      const active = tenants.find(({ id, slug }) => id === requested || slug === requested);
      return {
        user,
        tenant: active === undefined ? null : { id: active.id, slug: active.slug, name: active.name },
        role: active?.role ?? '',
        base_url: baseUrl,
        profile,
        credential,
        tenants,
      };
    }),
  view: {
    columns: [],
    fields: [
      { title: 'user', value: ({ user }) => nameOf(user) },
      { title: 'tenant', value: ({ tenant }) => (tenant as { slug?: string } | null)?.slug ?? '' },
      'role',
      'base_url',
      'profile',
    ],
  },
  examples: {
    '': 'Show who svc acts as',
    '--json': 'Include all your tenants, as JSON',
  },
});

/** An invalid svc.yaml is noted and ignored. */
async function tenantOfFolder(ctx: Ctx): Promise<string | undefined> {
  const { explicitTenant } = await import('../session/tenant.ts');
  return explicitTenant(ctx).catch((cause: unknown) => {
    if (!(cause instanceof CliError || cause instanceof ProblemError)) throw cause;
    ctx.note(`${cause.message} Commands that need its app or tenant will fail.`);
    return undefined;
  });
}

function nameOf(user: unknown): string {
  const { email, name } = user as { email: string; name: string };
  return name === '' ? email : `${name} <${email}>`;
}
