import { getMe } from '@svc/contract/identity.ts';
import { defineCommand } from '../define-command.ts';

export default defineCommand({
  words: 'whoami',
  summary: 'Show who you are, in which tenant, on which server',
  kind: 'read',
  endpoint: getMe,
  input: () => ({}),
  output: async () => (await import('../login-output.ts')).whoamiOutput,
  present: async (ctx, me) => {
    const session = await ctx.session();
    const { credential, tenants, ...user } = me;
    const asked = ctx.globals.tenant ?? session.tenant?.id;
    const active =
      asked === undefined
        ? tenants.length === 1
          ? tenants[0]
          : undefined
        : tenants.find((it) => it.id === asked || it.slug === asked);
    return {
      user,
      tenant: active === undefined ? null : { id: active.id, slug: active.slug, name: active.name },
      role: active?.role ?? '',
      base_url: session.baseUrl,
      profile: session.profile,
      credential,
      tenants,
    };
  },
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
  examples: [
    { line: 'svc whoami', does: 'Who svc acts as' },
    { line: 'svc whoami --json', does: 'With all your tenants, as JSON' },
  ],
});

function nameOf(user: unknown): string {
  const { email, name } = user as { email: string; name: string };
  return name === '' ? email : `${name} <${email}>`;
}
