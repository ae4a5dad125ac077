import { consolePaths } from '@svc/contract/console-paths.ts';
import { ownerIdsOf } from '../apps/owner-ids-of.ts';
import { notify } from '../notifications/notify.ts';
import type { MutationCtx } from '../plumbing/context.ts';
import { findTenant } from '../tenants/find-tenant.ts';
import type { DeploymentFailure } from './deployment-failure.ts';
import { deploymentName } from './queue-deployment.ts';
import type { DeploymentRow } from './store.ts';

/** Of a push, nobody waits for the end; whoever deploys by hand sees it. */
export async function tellOfFailure(
  ctx: MutationCtx,
  { slug, row }: { slug: string; row: DeploymentRow },
  failure: DeploymentFailure,
): Promise<void> {
  if (row.trigger !== 'push') return;
  const tenant = await findTenant(ctx, { ref: row.tenant_id });
  if (!tenant) return;
  const place = { tenantId: row.tenant_id, appId: row.app_id };
  const commit = row.commit_sha ? ` of commit ${row.commit_sha.slice(0, 12)}` : '';
  await notify(ctx, {
    ...{ ...place, kind: 'deployment_failed' },
    userIds: await ownerIdsOf(ctx.db, place),
    title: `Deployment ${deploymentName(slug, row)} failed`,
    text: `The push${commit} did not go live; what was live before still is.\n\n${failure.message}`,
    path: consolePaths.deployment(tenant.slug, slug, row.id),
  });
}
