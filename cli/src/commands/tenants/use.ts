import { getTenant } from '@svc/contract/tenants.ts';
import { defineCommand } from '../../define-command.ts';

export default defineCommand({
  words: 'tenants use',
  summary: 'Choose the tenant that commands work in',
  description: 'Kept in the profile on this machine. --tenant and SVC_TENANT go before it.',
  kind: 'local',
  positionals: [{ name: 'tenant', summary: 'Tenant slug or id' }],
  output: {
    type: 'object',
    properties: {
      profile: { type: 'string' },
      tenant: {
        type: 'object',
        properties: {
          id: { type: 'string' },
          slug: { type: 'string' },
          name: { type: 'string' },
          role: { type: 'string' },
        },
        required: ['id', 'slug', 'name', 'role'],
      },
    },
    required: ['profile', 'tenant'],
  },
  run: async (ctx, { positionals }) => {
    const session = await ctx.session();
    const found = await session.client.call(
      getTenant,
      { params: { tenantID: positionals.tenant } },
      { signal: ctx.signal },
    );
    const { setActiveTenant } = await import('../../active-tenant.ts');
    await setActiveTenant(ctx, found);
    const { id, slug, name, role } = found;
    return {
      value: { profile: session.profile, tenant: { id, slug, name, role } },
      text: () => `${slug} is the active tenant of profile ${session.profile}.\n`,
    };
  },
  examples: [{ line: 'svc tenants use demo', does: 'Work in tenant demo from now on' }],
});
