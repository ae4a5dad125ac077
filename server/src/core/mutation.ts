import type { Plan } from '@svc/contract/plan.ts';
import { CompiledQuery } from 'kysely';
import type { Logger } from 'pino';
import { appendAudit, transactionTime } from './audit.ts';
import type { AuditedChange, Caller, Ctx, Foreseen, MutationCtx, RowTransaction, RowTx } from './context.ts';
import { type Db, isRetryable, StatementLog, type Tx } from './db.ts';
import type { EventSource } from './events.ts';
import { claimKey, type IdempotentRequest, type StoredResponse, storeResponse } from './idempotency.ts';
import { notifySql } from './invalidation.ts';
import type { Outbox, QueuedEffect } from './outbox-worker.ts';
import { fieldChanges, makePlan } from './plan.ts';
import { fail } from './problem.ts';

export interface MutationRequest {
  mode: 'preview' | 'execute';
  operation: { id: string; irreversible: boolean };
  auditTenantId: string;
  deadline?: AbortSignal;
  ifPlan?: string;
  idempotency?: IdempotentRequest;
  beforeReplay?: (ctx: MutationCtx) => Promise<void>;
  useCase: (ctx: MutationCtx) => Promise<StoredResponse>;
}

export interface MutationBase extends Omit<Ctx, 'db' | 'now'> {
  db: Db;
  outbox: Outbox;
  rows?: RowDatabase;
  onCommitted?: (tag: string) => void;
  events: EventSource;
}

export interface RowDatabase {
  db: Db | null;
  role: string | null;
  intents?: RowIntents;
}

export interface RowIntents {
  commit(tx: Tx, rowsTx: RowTx): Promise<void>;
  /** Throws `UnfinishedTables` while a change of the app's tables is not finished in the second database. */
  requireFinished(tx: Tx, appId: string): Promise<void>;
  completeForApp(appId: string): Promise<void>;
}

/** The transaction is rolled back and tried again when the earlier change is finished. */
export class UnfinishedTables extends Error {
  constructor(readonly appId: string) {
    super(`An earlier change of the tables of app ${appId} is not finished.`);
  }
}

export type MutationResult = { kind: 'previewed'; plan: Plan } | { kind: 'done'; response: StoredResponse };

const attemptsMax = 3;
/** Others may change tables of the app in between, again and again. */
const unfinishedMsMax = 10_000;
const unfinishedPauseMsMax = 20;

/** The only way to change anything: preview, audit, effects and invalidation follow from what the use case records. */
export async function runMutation(base: MutationBase, request: MutationRequest): Promise<MutationResult> {
  const since = performance.now();
  for (let attempt = 1; ; ) {
    const tx = await base.db.startTransaction().execute();
    const second: { tx?: RowTx } = {};
    const tags = new Set<string>();
    const rows: RowTransaction = {
      role: base.rows?.role ?? null,
      tx: async () => {
        if (!base.rows?.db) return tx;
        second.tx ??= Object.assign(await base.rows.db.startTransaction().execute(), {
          statements: new StatementLog(),
        });
        return second.tx;
      },
      requireFinished: async (appId) => base.rows?.intents?.requireFinished(tx, appId),
    };
    try {
      const result = await runOnce(base, tx, rows, tags, request);
      // The client has already received a timeout, so nothing may be committed.
      if (request.deadline?.aborted) throw fail('query_timeout');
      if (result.kind === 'previewed') for (const each of [second.tx, tx]) await rollBack(each);
      else if (second.tx) await commitBoth(base, tx, second.tx);
      else await tx.commit().execute();
      if (result.kind === 'done') for (const tag of tags) base.onCommitted?.(tag);
      return result;
    } catch (error) {
      for (const each of [second.tx, tx]) await rollBack(each).catch(() => {});
      if (error instanceof UnfinishedTables) {
        await base.rows?.intents?.completeForApp(error.appId);
        if (performance.now() - since < unfinishedMsMax && !request.deadline?.aborted) {
          await Bun.sleep(Math.random() * unfinishedPauseMsMax);
          continue;
        }
        throw fail('table_busy', {}, { cause: error });
      }
      if (!isRetryable(error) || attempt++ >= attemptsMax) throw error;
    }
  }
}

async function rollBack(tx: Tx | undefined): Promise<void> {
  if (!tx || tx.isCommitted || tx.isRolledBack) return;
  await tx.rollback().execute();
}

async function commitBoth({ rows }: MutationBase, tx: Tx, rowsTx: RowTx): Promise<void> {
  if (!rows?.intents) throw new Error('A second database needs intents.');
  await rows.intents.commit(tx, rowsTx);
}

async function runOnce(
  base: MutationBase,
  tx: Tx,
  rows: RowTransaction,
  tags: Set<string>,
  request: MutationRequest,
): Promise<MutationResult> {
  const now = await transactionTime(tx);
  // A preview has no effect that could happen twice, so it neither replays nor stores a response.
  const idempotency = request.mode === 'execute' ? request.idempotency : undefined;
  const stored = idempotency ? await claimKey(tx, idempotency) : null;

  const ids = new Set<string>();
  const changes: AuditedChange[] = [];
  const effects: QueuedEffect[] = [];
  const warnings: string[] = [];
  let { irreversible } = request.operation;
  let foreseen: (() => Promise<Foreseen>) | undefined;
  const newId = () => {
    const id = Bun.randomUUIDv7();
    ids.add(id);
    return id;
  };
  const ctx: MutationCtx = {
    db: tx,
    now,
    requestId: base.requestId,
    log: base.log,
    caller: base.caller,
    newId,
    audit: (change) => void changes.push(change),
    enqueue: (topic, payload) => void effects.push({ id: Bun.randomUUIDv7(), topic, payload }),
    invalidate: (tag) => void tags.add(tag),
    warn: (text) => void warnings.push(text),
    warnOfLoss: (text) => {
      warnings.push(text);
      irreversible = true;
    },
    foresee: (load) => {
      foreseen = load;
    },
    events: base.events,
    rows,
  };
  if (stored) {
    await request.beforeReplay?.(ctx);
    return { kind: 'done', response: stored };
  }
  const response = await request.useCase(ctx);

  const operation = { id: request.operation.id, irreversible };
  const plan = makePlan(operation, changes, warnings, { ids, now });
  if (request.mode === 'preview')
    return { kind: 'previewed', plan: { ...plan, ...(await planEffects(foreseen)) } };
  if (request.ifPlan !== undefined && request.ifPlan !== plan.fingerprint) throw fail('plan_stale');

  for (const tag of tags) await tx.executeQuery(CompiledQuery.raw(notifySql, [tag]));
  const actor = { kind: base.caller.kind, id: base.caller.userId, name: base.caller.email };
  const head = await appendAudit(
    tx,
    { tenantId: request.auditTenantId, at: now, actor, requestId: base.requestId },
    changes.filter((change) => fieldChanges(change).length > 0),
  );
  if (head) effects.push({ id: Bun.randomUUIDv7(), topic: 'audit.anchor', payload: { ...head } });
  await base.outbox.add(tx, now, effects);
  if (idempotency) await storeResponse(tx, idempotency, response);
  return { kind: 'done', response };
}

async function planEffects(load: (() => Promise<Foreseen>) | undefined): Promise<Partial<Plan>> {
  if (!load) return {};
  const { effects, leftOff } = await load();
  return leftOff === 0 ? { effects } : { effects, effects_left_off: leftOff };
}

export interface OperatorDeps {
  db: Db;
  outbox: Outbox;
  log: Logger;
  rows?: RowDatabase;
  events: EventSource;
}

interface NamedChange {
  name: string;
  auditTenantId: string;
  requestId?: string;
}

export function runAsOperator<T>(
  deps: OperatorDeps,
  change: NamedChange,
  useCase: (ctx: MutationCtx) => Promise<T>,
): Promise<T> {
  return runAs(deps, operatorCaller, change, useCase);
}

export async function runAs<T>(
  deps: OperatorDeps,
  caller: Caller,
  change: NamedChange,
  useCase: (ctx: MutationCtx) => Promise<T>,
): Promise<T> {
  let value: { is: T } | undefined;
  await runMutation(
    { ...deps, caller, requestId: change.requestId ?? Bun.randomUUIDv7() },
    {
      mode: 'execute',
      operation: { id: change.name, irreversible: false },
      auditTenantId: change.auditTenantId,
      useCase: async (ctx) => {
        value = { is: await useCase(ctx) };
        return { status: 200, headers: {}, body: '' };
      },
    },
  );
  if (!value) throw new Error(`${change.name} returned without running its use case.`);
  return value.is;
}

const operatorCaller: Caller = {
  kind: 'operator',
  userId: 'operator',
  email: 'operator',
  name: 'operator',
  credentialId: '',
  expiresAt: new Date(8.64e15),
};
