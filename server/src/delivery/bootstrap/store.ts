import { bootstrapSteps } from '@svc/contract/bootstrap.ts';
import { sql } from 'kysely';
import type { Db, Tx } from '../../core/db.ts';
import { canonicalJson, sha256 } from '../../core/values.ts';
import {
  type FailureCode,
  leaseSeconds,
  type RunInput,
  type RunKind,
  type RunState,
  type StepName,
  type StepState,
} from './rules.ts';

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
  steps: StepRow[];
}

type Tables = {
  bootstrap_runs: RunRow;
  bootstrap_steps: StepRow & { run_id: string };
};

export async function insertRunRow(
  tx: Tx,
  run: Pick<RunRow, 'id' | 'tenant_id' | 'kind' | 'state' | 'input' | 'created_by' | 'created_at'> &
    Partial<RunRow>,
): Promise<boolean> {
  const made = await tx
    .withTables<Tables>()
    .insertInto('bootstrap_runs')
    .values({
      ...(run as RunRow),
      slug: run.input.slug,
      input: JSON.stringify(run.input) as never,
      input_hash: sha256(canonicalJson(run.input)),
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning('id')
    .executeTakeFirst();
  if (!made) return false;
  await sql`insert into svc.bootstrap_steps (run_id, name, state)
    select ${run.id}, name, 'waiting' from unnest(${bootstrapSteps}::text[]) name`.execute(tx);
  return true;
}

export async function findRun(db: Db, tenantId: string, id: string): Promise<Run | null> {
  return withSteps(db, await byId(db, tenantId, id).executeTakeFirst());
}

export async function lockRun(tx: Tx, tenantId: string, id: string): Promise<Run | null> {
  return withSteps(tx, await byId(tx, tenantId, id).forUpdate().executeTakeFirst());
}

export async function lockClaimedRun(tx: Tx, { tenantId, runId, holder }: Claim): Promise<Run | null> {
  const row = await byId(tx, tenantId, runId)
    .where((row) => row.and({ lease_holder: holder, state: 'running' }))
    .forUpdate()
    .executeTakeFirst();
  return withSteps(tx, row);
}

export function lockAwaitingRuns(tx: Tx, tenantId: string, userId: string): Promise<RunRow[]> {
  return tx
    .withTables<Tables>()
    .selectFrom('bootstrap_runs')
    .selectAll()
    .where((row) => row.and({ tenant_id: tenantId, created_by: userId, state: 'awaiting_approval' }))
    .orderBy('id')
    .forUpdate()
    .execute();
}

type RunRef = Pick<RunRow, 'id' | 'tenant_id'>;

export async function updateRunRow(tx: Tx, { id, tenant_id }: RunRef, set: Partial<RunRow>): Promise<void> {
  await tx
    .withTables<Tables>()
    .updateTable('bootstrap_runs')
    .set(set)
    .where((row) => row.and({ tenant_id, id }))
    .execute();
}

export async function leaveStepRows(tx: Tx, runId: string, detail: string): Promise<void> {
  await sql`update svc.bootstrap_steps set state = 'waiting', detail = ${detail}
    where run_id = ${runId} and state = 'running'`.execute(tx);
}

export async function updateStepRow(tx: Tx, runId: string, name: StepName, set: Partial<StepRow>) {
  const { output, ...rest } = set;
  await tx
    .withTables<Tables>()
    .updateTable('bootstrap_steps')
    .set({ ...rest, ...(output === undefined ? {} : { output: JSON.stringify(output) as never }) })
    .where((row) => row.and({ run_id: runId, name }))
    .execute();
}

function byId(db: Db, tenantId: string, id: string) {
  return db
    .withTables<Tables>()
    .selectFrom('bootstrap_runs')
    .selectAll()
    .where((row) => row.and({ tenant_id: tenantId, id }));
}

async function withSteps(db: Db, row: RunRow | undefined): Promise<Run | null> {
  if (!row) return null;
  const steps = await db
    .withTables<Tables>()
    .selectFrom('bootstrap_steps')
    .selectAll()
    .where('run_id', '=', row.id)
    .execute();
  const order = (name: StepName) => bootstrapSteps.indexOf(name);
  return { ...row, steps: steps.sort((one, other) => order(one.name) - order(other.name)) };
}

export interface Claim {
  tenantId: string;
  runId: string;
  holder: string;
}

export async function claimRun(db: Db): Promise<Claim | null> {
  const { rows } = await sql<Claim>`
    update svc.bootstrap_runs set lease_holder = ${Bun.randomUUIDv7()},
      lease_until = now() + make_interval(secs => ${leaseSeconds}), next_try_at = null
    where id = (
      select id from svc.bootstrap_runs
      where state = 'running' and (lease_until is null or lease_until < now())
        and (next_try_at is null or next_try_at <= now())
      order by next_try_at nulls first, created_at limit 1 for update skip locked)
    returning tenant_id as "tenantId", id as "runId", lease_holder as "holder"`.execute(db);
  return rows[0] ?? null;
}

export async function hasOpenRun(db: Db): Promise<boolean> {
  const { rows } = await sql`select from svc.bootstrap_runs where state = 'running' limit 1`.execute(db);
  return rows.length > 0;
}

export async function renewClaim(db: Db, { tenantId, runId, holder }: Claim): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update svc.bootstrap_runs set lease_until = now() + make_interval(secs => ${leaseSeconds})
    where tenant_id = ${tenantId} and id = ${runId} and lease_holder = ${holder} and state = 'running'`.execute(
    db,
  );
  return numAffectedRows === 1n;
}

export async function releaseClaim(
  db: Db,
  { tenantId, runId, holder }: Claim,
  { afterSeconds }: { afterSeconds: number },
): Promise<void> {
  await sql`
    update svc.bootstrap_runs set lease_holder = null, lease_until = null,
      next_try_at = now() + make_interval(secs => ${afterSeconds})
    where tenant_id = ${tenantId} and id = ${runId} and lease_holder = ${holder}`.execute(db);
}

export async function listUnapprovedRuns(db: Db): Promise<{ id: string; tenant_id: string }[]> {
  const { rows } = await sql<{ id: string; tenant_id: string }>`
    select id, tenant_id from svc.bootstrap_runs
    where state = 'awaiting_approval' and (is_denied or approval_until < now()) limit 100`.execute(db);
  return rows;
}
