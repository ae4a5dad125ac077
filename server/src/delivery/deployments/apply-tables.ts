import type { getTableDrift as driftShape } from '@svc/contract/deployments.shapes.ts';
import type { z } from 'zod';
import { findActingOwner, findAppById } from '../../apps/record/find-app.ts';
import { type AppCtx, type AppMutationCtx, appRef, type MutationCtx } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { Failure } from '../../core/problem.ts';
import { applySchema, schemaDrift, undoSchema, warnOfDestructive } from '../../data/tables/apply-tables.ts';
import {
  isDestructive,
  isDrop,
  isExpanding,
  type SchemaStep,
  stepRecord,
  stepText,
} from '../../data/tables/schema-steps.ts';
import { findTenant } from '../../people/tenants/tenants.ts';
import { type ClaimedWork, DeploymentFailure, withLease } from './claimed-work.ts';
import { type DeploymentRow, findLiveDeploymentRow, toAppRef, updateDeploymentRow } from './store.ts';

type Tables = NonNullable<DeploymentRow['start_with']>['tables'];

/** Only a new build has any: a rollback must not bring back the rules of an earlier version. */
const plannedTables = ({ kind, start_with }: DeploymentRow): Tables =>
  kind === 'deploy' ? start_with?.tables : undefined;

/** The release command may need the tables. A site gets them when its review is approved (`applyTablesOf`). */
export async function applyPlannedTables(work: ClaimedWork, row: DeploymentRow): Promise<void> {
  if (row.kind === 'rollback') {
    const warning = await describeRemainingTables(work.deps.db, row);
    if (warning !== null) work.log.sink('platform', warning);
  }
  if (row.method === 'static' && row.state !== 'releasing') return;
  await applyDeclaredTables(work, row, plannedTables(row));
}

type LeasedWork = Pick<ClaimedWork, 'deps' | 'claimed' | 'log'>;

/** Only what can be undone if the deployment fails; the rest when it goes live. A preview needs it before its rows are seeded. */
export async function applyDeclaredTables(work: LeasedWork, row: DeploymentRow, tables: Tables) {
  if (tables === undefined) return;
  try {
    const { steps, later } = await withLease(work, 'tables.apply', async (ctx, locked) => {
      const owner = await asOwner(ctx, locked.row);
      if (!owner) return { steps: [], later: [] };
      const changes = locked.row.table_changes;
      const options = applyOptions(locked.row);
      const { steps, undo } = await applySchema(owner, tables, { ...options, part: 'expanding' });
      if (undo.length > 0)
        await updateDeploymentRow(ctx.db, locked.row, {
          table_changes: { ...changes, undo: [...undo, ...(changes?.undo ?? [])] },
        });
      const rest = await schemaDrift(ctx.db, toAppRef(row), tables);
      return { steps, later: rest.filter((step) => !isExpanding(step) && (options.prune || !isDrop(step))) };
    });
    if (steps.length > 0) work.log.sink('platform', `Tables of svc.yaml: ${steps.map(doneText).join('; ')}.`);
    if (later.length > 0)
      work.log.sink('platform', `When the new version is healthy: ${later.map(stepText).join('; ')}.`);
  } catch (error) {
    throw tablesFailure(error, row.step ?? 'release');
  }
}

function tablesFailure(error: unknown, step: NonNullable<DeploymentRow['step']>): unknown {
  if (!(error instanceof Failure)) return error;
  const detail = `svc.yaml: the tables cannot be applied: ${error.detail ?? error.message}`;
  const advice =
    error.code === 'destructive_change' ? ' Deploy with --allow-destructive if they are not needed.' : '';
  return new DeploymentFailure('release_failed', step, `${detail}${advice}`);
}

function doneText(step: SchemaStep): string {
  if (step.kind === 'create_table') return `${step.table} created`;
  if (step.kind === 'add_column') return `${step.table}.${step.column.name} added`;
  return step.kind === 'set_access' ? `rules of ${step.table} set` : stepText(step);
}

const applyOptions = ({ table_changes: changes }: DeploymentRow) => ({
  prune: changes?.prune ?? false,
  allowed: changes?.allowed ?? [],
});

/** In the transaction that makes the deployment live: what is left, destructive steps too. */
export async function applyTablesOf(ctx: MutationCtx, row: DeploymentRow, { isReviewed = false } = {}) {
  const tables = plannedTables(row);
  const owner = tables && (await asOwner(ctx, row));
  if (!owner) return;
  const options = applyOptions(row);
  await applySchema(owner, tables, isReviewed ? { ...options, allowed: 'all' } : options).catch(
    (error: unknown) => {
      throw row.method === 'static' ? error : tablesFailure(error, 'switch');
    },
  );
}

/** Acts as an owner: the right to deploy was checked when the deployment was created. */
async function asOwner(ctx: MutationCtx, row: DeploymentRow): Promise<AppMutationCtx | null> {
  const { tenantId, appId } = toAppRef(row);
  const app = await findAppById(ctx, { id: appId });
  const tenant = app && (await findTenant(ctx, { ref: tenantId }));
  if (!app || !tenant) return null;
  const userId = await findActingOwner(ctx.db, { tenantId, appId }, { requestedBy: row.created_by });
  const { ownApp: _, ...caller } = ctx.caller;
  return {
    ...ctx,
    caller: { ...caller, userId },
    tenant: { id: tenantId, slug: tenant.slug, name: tenant.name, role: 'tenant_member' as const },
    app: { ...app, relation: 'owner' as const },
  };
}

const undoAttemptsMax = 3;

/** For a deployment that does not go live. Somebody may have changed a table since; what cannot be undone is in the log. */
export async function undoAppliedTables(work: LeasedWork): Promise<void> {
  let left: readonly SchemaStep[] = [];
  for (let attempt = 1; attempt <= undoAttemptsMax; attempt++) {
    const undone = await withLease(work, 'tables.undo', async (ctx, { row }) => {
      const undo = row.table_changes?.undo ?? [];
      const owner = undo.length > 0 && (await asOwner(ctx, row));
      if (!owner) return null;
      const failed = await undoSchema(owner, undo);
      await updateDeploymentRow(ctx.db, row, { table_changes: { ...row.table_changes, undo: failed } });
      return { count: undo.length - failed.length, failed };
    });
    if (!undone) return;
    if (undone.count > 0) work.log.sink('platform', 'The tables are as before the deployment.');
    left = undone.failed;
    if (left.length === 0) return;
  }
  work.log.sink(
    'platform',
    `The tables keep changes of this deployment. Left to do: ${left.map(stepText).join('; ')}.`,
  );
}

/** Table changes that a rollback to this build does not undo; null if its tables are today's. */
export async function describeRemainingTables(db: Db, row: DeploymentRow): Promise<string | null> {
  const tables = row.start_with?.tables;
  if (tables === undefined) return null;
  const stay = 'A rollback does not change tables';
  try {
    const steps = await schemaDrift(db, toAppRef(row), tables);
    const texts = steps.map(stepText);
    if (texts.length === 0) return null;
    const more = texts.length > 10 ? ` and ${texts.length - 10} more` : '';
    return `${stay}. To get those of that version: ${texts.slice(0, 10).join('; ')}${more}.`;
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return `${stay}, and those of that version cannot be compared: ${error.detail ?? error.message}`;
  }
}

export async function getTableDrift(ctx: AppCtx): Promise<z.output<typeof driftShape.answer>> {
  const live = await findLiveDeploymentRow(ctx.db, appRef(ctx));
  const tables = live?.start_with?.tables;
  const steps = tables === undefined ? [] : await schemaDrift(ctx.db, appRef(ctx), tables);
  return {
    deployment: live ? { id: live.id, seq: live.seq } : null,
    declared: tables !== undefined,
    steps: steps.map(stepRecord),
  };
}

export async function plannedTableSteps(db: Db, row: DeploymentRow): Promise<SchemaStep[] | null> {
  const tables = plannedTables(row);
  if (tables === undefined) return null;
  const { prune } = applyOptions(row);
  try {
    const steps = await schemaDrift(db, toAppRef(row), tables);
    return steps.filter((step) => prune || !isDrop(step));
  } catch (error) {
    if (error instanceof Failure) return null;
    throw error;
  }
}

/** A reviewer saw these steps, and no others. */
export async function approvedChanges(
  ctx: MutationCtx,
  row: DeploymentRow,
): Promise<DeploymentRow['table_changes']> {
  const steps = (await plannedTableSteps(ctx.db, row)) ?? [];
  warnOfDestructive(ctx, steps);
  if (row.table_changes?.allowed === 'all') return row.table_changes;
  return { ...row.table_changes, allowed: steps.filter(isDestructive).map(stepText) };
}
