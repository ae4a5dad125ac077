import { ProblemError } from '@svc/contract/client.ts';
import { getMe } from '@svc/contract/identity.ts';
import type { Ctx } from '../context.ts';
import { defineCommand } from '../define-command.ts';
import { CliError } from '../errors.ts';

export default defineCommand({
  words: 'whoami',
  summary: 'Show who you are, in which tenant, on which server',
  kind: 'read',
  endpoint: getMe,
  input: () => ({}),
  output: async () => (await import('../login-output.ts')).whoamiOutput,
  present: (ctx, { credential, tenants, ...user }) =>
    ctx.session().then(async ({ baseUrl, profile, tenant }) => {
      const said = ctx.globals.tenant ?? (await tenantOfFolder(ctx));
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

/** Who one is does not hang on a svc.yaml: one with a fault is told of and passed over. */
async function tenantOfFolder(ctx: Ctx): Promise<string | undefined> {
  const { saidTenant } = await import('../tenant.ts');
  return saidTenant(ctx).catch((cause: unknown) => {
    if (!(cause instanceof CliError || cause instanceof ProblemError)) throw cause;
    ctx.note(`${cause.message} Until it is mended, commands that need its app or tenant fail.`);
    return undefined;
  });
}

function nameOf(user: unknown): string {
  const { email, name } = user as { email: string; name: string };
  return name === '' ? email : `${name} <${email}>`;
}
