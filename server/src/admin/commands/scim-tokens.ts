import { runAsOperator } from '../../core/mutation.ts';
import { createScimToken, listScimTokens, revokeScimToken } from '../../people/scim/tokens.ts';
import { parseTenantName } from '../../people/tenants/rules.ts';
import type { AdminCtx, Result } from '../command.ts';
import { listResult } from '../list-result.ts';
import { withSystem } from '../system.ts';
import { requireTenant } from './people.ts';

export async function runCreateScimToken(
  ctx: AdminCtx,
  args: { positionals: { tenant: string }; flags: { name?: string } },
): Promise<Result> {
  const name = parseTenantName(args.flags.name ?? 'directory');
  const token = await withSystem(ctx, async (system) => {
    const { id: tenantId } = await requireTenant(system, args.positionals.tenant);
    return runAsOperator(system, { name: 'scimTokens.create', auditTenantId: tenantId }, (operator) =>
      createScimToken(operator, { tenantId, name }),
    );
  });
  const { secret, ...record } = token;
  const url = `${ctx.config().baseUrl}/scim/v2`;
  return { json: { ...record, token: secret, url }, text: `${secret}\n` };
}

export async function runListScimTokens(
  ctx: AdminCtx,
  args: { positionals: { tenant: string } },
): Promise<Result> {
  const items = await withSystem(ctx, async (system) => {
    const { id: tenantId } = await requireTenant(system, args.positionals.tenant);
    return listScimTokens(system, { tenantId });
  });
  return listResult(['id', 'name', 'hint', 'status', 'created_at', 'last_used_at'], items);
}

export async function runRevokeScimToken(
  ctx: AdminCtx,
  args: { positionals: { tenant: string; token: string } },
): Promise<Result> {
  const token = await withSystem(ctx, async (system) => {
    const { id: tenantId } = await requireTenant(system, args.positionals.tenant);
    return runAsOperator(system, { name: 'scimTokens.revoke', auditTenantId: tenantId }, (operator) =>
      revokeScimToken(operator, { tenantId, id: args.positionals.token }),
    );
  });
  return { json: { ...token }, text: `Revoked ${token.name} (${token.id}).\n` };
}
