import { asOperator, type OperatorParts } from '../plumbing/operator.ts';
import { listAppsToPurge } from './life-store.ts';
import { purgeDueApp } from './purge-due-app.ts';

/** Apps that were deleted so long ago that they can not be restored any more, one by one. */
export async function purgeDueApps(parts: OperatorParts): Promise<void> {
  for (const { id, tenantId, slug } of await listAppsToPurge(parts.db)) {
    const change = { name: 'apps.purge', auditTenantId: tenantId };
    // One app's trouble is not the others': where a table is in use, the next run comes again.
    await asOperator(parts, change, (ctx) => purgeDueApp(ctx, { tenantId, appId: id })).catch(
      (error: unknown) =>
        parts.log.error({ err: error, app: slug, tenant: tenantId }, 'could not purge a deleted app'),
    );
  }
}
