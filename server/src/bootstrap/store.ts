import { bootstrapSteps } from '@svc/contract/bootstrap.ts';
import { canonicalJson, sha256 } from '../plumbing/canonical.ts';
import type { Db, Tx } from '../plumbing/db.ts';
import type { Claim } from './claim-store.ts';
import type { FailureCode, RunKind, RunState, StepName, StepState } from './rules.ts';
import type { RunInput } from './run-input.ts';

export interface RunRow {
  id: string;
  tenant_id: string;
  kind: RunKind;
  state: RunState;
  input: RunInput;
  input_hash: string;
  slug: string;
  template_id: string | null;
  source_app_id: string | null;
  app_id: string | null;
  failure_code: FailureCode | null;
  failure_detail: string | null;
  cancel_asked: boolean;
  device_code_hash: string | null;
  approval_until: Date | null;
  is_denied: boolean;
  lease_holder: string | null;
  lease_until: Date | null;
  next_try_at: Date | null;
  created_by: string;
  created_at: Date;
  ended_at: Date | null;
}

export interface StepRow {
  name: StepName;
  state: StepState;
  attempts: number;
  failures: number;
  input_hash: string | null;
  output: Record<string, unknown> | null;
  detail: string;
  started_at: Date | null;
  ended_at: Date | null;
}

export interface Run extends RunRow {
  /** In their order. */
  steps: StepRow[];
}

type Tables = {
  bootstrap_runs: RunRow;
  bootstrap_steps: StepRow & { run_id: string };
};

/** False: an open run has the slug. */
export async function insertRunRow(
  tx: Tx,
  run: Pick<RunRow, 'id' | 'tenant_id' | 'kind' | 'state' | 'input' | 'created_by' | 'created_at'> &
    Partial<RunRow>,
): Promise<boolean> {
  const made = await tx
    .withTables<Tables>()
    .insertInto('bootstrap_runs')
    .values({
      ...emptyRun,
      ...run,
      slug: run.input.slug,
      input: JSON.stringify(run.input) as never,
      input_hash: sha256(canonicalJson(run.input)),
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning('id')
    .executeTakeFirst();
  if (!made) return false;
  const waiting = { ...emptyStep, run_id: run.id, state: 'waiting' as const };
  await tx
    .withTables<Tables>()
    .insertInto('bootstrap_steps')
    .values(bootstrapSteps.map((name) => ({ ...waiting, name })))
    .execute();
  return true;
}

const emptyRun = {
  ...{ template_id: null, source_app_id: null, app_id: null, failure_code: null, failure_detail: null },
  ...{
    cancel_asked: false,
    is_denied: false,
    device_code_hash: null,
    approval_until: null,
    lease_holder: null,
  },
  ...{ lease_until: null, next_try_at: null, ended_at: null },
};
const emptyStep = {
  ...{
    attempts: 0,
    failures: 0,
    input_hash: null,
    output: null,
    detail: '',
    started_at: null,
    ended_at: null,
  },
};

export async function findRun(db: Db, tenantId: string, id: string): Promise<Run | null> {
  return withSteps(db, await byId(db, tenantId, id).executeTakeFirst());
}

/** Until the transaction ends nobody else changes it. */
export async function lockRun(tx: Tx, tenantId: string, id: string): Promise<Run | null> {
  return withSteps(tx, await byId(tx, tenantId, id).forUpdate().executeTakeFirst());
}

/** The same for who works on it; null where that is over. */
export async function lockClaimedRun(tx: Tx, { tenantId, runId, holder }: Claim): Promise<Run | null> {
  const row = await byId(tx, tenantId, runId)
    .where('lease_holder', '=', holder)
    .where('state', '=', 'running')
    .forUpdate()
    .executeTakeFirst();
  return withSteps(tx, row);
}

/** Runs of the person that wait for their account at the git host, held. */
export function lockAwaitingRuns(tx: Tx, tenantId: string, userId: string): Promise<RunRow[]> {
  return tx
    .withTables<Tables>()
    .selectFrom('bootstrap_runs')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('created_by', '=', userId)
    .where('state', '=', 'awaiting_approval')
    .orderBy('id')
    .forUpdate()
    .execute();
}

export async function updateRunRow(
  tx: Tx,
  tenantId: string,
  { id, set }: { id: string; set: Partial<RunRow> },
): Promise<void> {
  await tx
    .withTables<Tables>()
    .updateTable('bootstrap_runs')
    .set(set)
    .where('tenant_id', '=', tenantId)
    .where('id', '=', id)
    .execute();
}

/** Steps that nobody works on any more, because the run has ended. */
export async function leaveStepRows(tx: Tx, runId: string, detail: string): Promise<void> {
  await tx
    .withTables<Tables>()
    .updateTable('bootstrap_steps')
    .set({ state: 'waiting', detail })
    .where('run_id', '=', runId)
    .where('state', '=', 'running')
    .execute();
}

export async function updateStepRow(
  tx: Tx,
  { runId, name, set }: { runId: string; name: StepName; set: Partial<StepRow> },
): Promise<void> {
  const { output, ...rest } = set;
  await tx
    .withTables<Tables>()
    .updateTable('bootstrap_steps')
    .set({ ...rest, ...(output === undefined ? {} : { output: JSON.stringify(output) as never }) })
    .where('run_id', '=', runId)
    .where('name', '=', name)
    .execute();
}

function byId(db: Db, tenantId: string, id: string) {
  return db
    .withTables<Tables>()
    .selectFrom('bootstrap_runs')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('id', '=', id);
}

async function withSteps(db: Db, row: RunRow | undefined): Promise<Run | null> {
  if (!row) return null;
  const steps = await db
    .withTables<Tables>()
    .selectFrom('bootstrap_steps')
    .selectAll()
    .where('run_id', '=', row.id)
    .execute();
  const place = (name: StepName) => bootstrapSteps.indexOf(name);
  return { ...row, steps: steps.sort((one, other) => place(one.name) - place(other.name)) };
}
