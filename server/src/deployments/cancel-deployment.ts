import { holdApp } from '../apps/hold-app.ts';
import type { AppMutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import type { SitePlaces } from '../static-sites/site-urls.ts';
import { type DeploymentRecord, deploymentRecord } from './deployment-record.ts';
import { endRow } from './end-row.ts';
import { deploymentName, workTag } from './queue-deployment.ts';
import { cancelOf } from './rules.ts';
import { lockDeploymentRow, updateDeploymentRow } from './store.ts';

/** At once where it waits; the copy of the server that builds it is asked to stop. */
export async function cancelDeployment(
  ctx: AppMutationCtx,
  { id }: { id: string },
  places: SitePlaces,
): Promise<DeploymentRecord & { changed?: false }> {
  const app = await holdApp(ctx, { wanted: 'owners' });
  const place = { tenantId: ctx.tenant.id, appId: app.id };
  const row = await lockDeploymentRow(ctx.db, place, id);
  if (!row) throw fail('not_found');
  const outcome = cancelOf(row);
  if (outcome === 'refused') throw fail('not_cancelable', { detail: `The deployment is ${row.state}.` });
  const audited = {
    action: 'deployments.cancel',
    appId: app.id,
    target: { kind: 'deployment', id, name: deploymentName(app.slug, row) },
  };
  if (outcome === 'same') {
    ctx.audit({ ...audited, before: {}, after: {} });
    return { ...deploymentRecord(row, { subdomain: app.subdomain, places }), changed: false };
  }
  const set = outcome === 'ends' ? await endRow(ctx, row, { state: 'canceled' }) : { cancel_asked: true };
  if (outcome === 'asked') await updateDeploymentRow(ctx.db, place, { id, set });
  ctx.audit({ ...audited, before: { state: row.state }, after: { state: 'canceled' } });
  ctx.changed(workTag);
  return deploymentRecord({ ...row, ...set }, { subdomain: app.subdomain, places });
}
