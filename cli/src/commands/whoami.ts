import { getMe } from '@svc/contract/identity.ts';
import { defineCommand } from '../define-command.ts';

export default defineCommand({
  words: 'whoami',
  summary: 'Show who you are, in which tenant, on which server',
  kind: 'read',
  endpoint: getMe,
  input: () => ({}),
  output: async () => (await import('../login-output.ts')).whoamiOutput,
  present: (ctx, { credential, tenants, ...user }) =>
    ctx.session().then(async ({ baseUrl, profile, tenant }) => {
      const said = ctx.globals.tenant ?? (await (await import('../tenant.ts')).saidTenant(ctx));
      const asked = said ?? tenant?.id ?? (tenants.length === 1 ? tenants[0]?.id : undefined);
      const active = tenants.find(({ id, slug }) => id === asked || slug === asked);
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
  examples: [
    { line: 'svc whoami', does: 'Who svc acts as' },
    { line: 'svc whoami --json', does: 'With all your tenants, as JSON' },
  ],
});

function nameOf(user: unknown): string {
  const { email, name } = user as { email: string; name: string };
  return name === '' ? email : `${name} <${email}>`;
}
