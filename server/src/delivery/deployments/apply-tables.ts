import { findActingOwner, findAppById } from '../../apps/record/find-app.ts';
import type { MutationCtx } from '../../core/context.ts';
import { Failure } from '../../core/problem.ts';
import { applyTables } from '../../data/tables/apply-tables.ts';
import { findTenant } from '../../people/tenants/tenants.ts';
import { type ClaimedWork, DeploymentFailure, withLease } from './claimed-work.ts';
import { type DeploymentRow, toAppRef } from './store.ts';

type Tables = NonNullable<DeploymentRow['start_with']>['tables'];

/** Of a new build. A rollback must not bring back the rules of an earlier version. */
const plannedTables = ({ kind, start_with }: DeploymentRow): Tables =>
  kind === 'deploy' ? start_with?.tables : undefined;

/**
 * Before the release command, which may need the tables. A site that waits for a review gets them when it becomes active
 * (`applyTablesOf`): nobody has approved its rules yet.
 */
export async function applyPlannedTables(work: ClaimedWork, row: DeploymentRow): Promise<void> {
  if (row.method === 'static' && row.state !== 'releasing') return;
  await applyDeclaredTables(work, row, plannedTables(row));
}

type LeasedWork = Pick<ClaimedWork, 'deps' | 'claimed' | 'log'>;

/** Tables of a preview are its own: they are applied before its rows are seeded. */
export async function applyDeclaredTables(
  work: LeasedWork,
  row: DeploymentRow,
  tables: Tables,
): Promise<void> {
  if (tables === undefined) return;
  try {
    const changes = await withLease(work, 'tables.apply', (ctx, locked) =>
      applyTablesOf(ctx, locked.row, tables),
    );
    if (changes.length > 0) work.log.sink('platform', `Tables of svc.yaml: ${changes.join('; ')}.`);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    throw new DeploymentFailure(
      'release_failed',
      row.step ?? 'release',
      `svc.yaml: the tables cannot be applied: ${error.detail ?? error.message}`,
    );
  }
}

/** Answers what changed. Acts as an owner: the right to deploy was checked when the deployment was created. */
export async function applyTablesOf(
  ctx: MutationCtx,
  row: DeploymentRow,
  tables = plannedTables(row),
): Promise<string[]> {
  const { tenantId, appId } = toAppRef(row);
  const app = tables && (await findAppById(ctx, { id: appId }));
  const tenant = app && (await findTenant(ctx, { ref: tenantId }));
  if (!tables || !app || !tenant) return [];
  const userId = await findActingOwner(ctx.db, { tenantId, appId }, { requestedBy: row.created_by });
  const { ownApp: _, ...caller } = ctx.caller;
  const owner = {
    ...ctx,
    caller: { ...caller, userId },
    tenant: { id: tenantId, slug: tenant.slug, name: tenant.name, role: 'tenant_member' as const },
    app: { ...app, relation: 'owner' as const },
  };
  const { created, columns, rules } = await applyTables(owner, { tables });
  return [
    ...created.map((name) => `${name} created`),
    ...columns.map((name) => `${name} added`),
    ...rules.map((name) => `rules of ${name} set`),
  ];
}
