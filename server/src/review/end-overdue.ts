import { appNames } from '../apps/app-names.ts';
import { lockApp } from '../apps/app-row.ts';
import type { MutationCtx } from '../plumbing/context.ts';
import { asOperator, type OperatorParts } from '../plumbing/operator.ts';
import { endRequest } from './end-request.ts';
import { isOver, statusOf } from './rules.ts';
import { findPublicationRow, type PublicationRow } from './store.ts';
import { supersede } from './supersede-open-request.ts';
import { whatIsDeployed } from './what-is-deployed.ts';

/** For who holds the app, and finds that a request can not be approved any more. */
export async function endOverdue(ctx: MutationCtx, open: PublicationRow): Promise<void> {
  const isExpired = statusOf(open, ctx.now) === 'expired';
  const told = isExpired
    ? await endRequest(ctx, open, { status: 'expired', reason: 'Nobody has decided in time.' })
    : await supersede(ctx, open);
  const name = (await appNames(ctx.db, open.tenant_id, [open.app_id])).get(open.app_id)?.slug ?? '';
  ctx.audit({
    action: isExpired ? 'publications.expire' : 'publications.supersede',
    appId: open.app_id,
    target: { kind: 'publication_request', id: open.id, name },
    before: { status: told.before.publication_request },
    after: { status: told.after.publication_request },
  });
}

/**
 * In a transaction of its own, so that it counts although whoever finds it so is refused: a refusal changes nothing, and
 * what has come to nothing must not wait for a decision any longer.
 */
export async function endIfOverdue(
  parts: OperatorParts,
  { tenantId, id }: { tenantId: string; id: string },
): Promise<void> {
  const change = { name: 'publications.settle', auditTenantId: tenantId };
  await asOperator(parts, change, async (ctx) => {
    const found = await findPublicationRow(ctx.db, tenantId, id);
    if (!found || !(await lockApp(ctx.db, tenantId, found.app_id, 'any'))) return;
    const open = await findPublicationRow(ctx.db, tenantId, id);
    if (open?.status !== 'pending') return;
    if (isOver(open, ctx.now, await whatIsDeployed(ctx.db, { tenantId, appId: open.app_id })))
      await endOverdue(ctx, open);
  });
}
