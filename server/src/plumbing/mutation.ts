import type { Plan } from '@svc/contract/plan.ts';
import { CompiledQuery } from 'kysely';
import { appendAudit, transactionTime } from './audit.ts';
import type { AuditedChange, Ctx, MutationCtx, RowsAccess } from './context.ts';
import { isRetryable } from './database-errors.ts';
import type { Db, Tx } from './db.ts';
import { claimKey, type IdempotentRequest, keepAnswer, type StoredAnswer } from './idempotency.ts';
import { notifySql } from './invalidation.ts';
import type { Outbox, QueuedEffect } from './outbox-rows.ts';
import { changesOf, makePlan } from './plan.ts';
import { fail } from './problem.ts';

export interface MutationRequest {
  mode: 'preview' | 'execute';
  operation: { id: string; irreversible: boolean };
  /** The chain the audit entries go to. */
  auditTenantId: string;
  deadline?: AbortSignal;
  ifPlan?: string;
  idempotency?: IdempotentRequest;
  /** Refuses where an answer that was kept may not be given again. */
  beforeReplay?: (ctx: MutationCtx) => Promise<void>;
  verb: (ctx: MutationCtx) => Promise<StoredAnswer>;
}

export interface MutationBase extends Omit<Ctx, 'db' | 'now'> {
  db: Db;
  outbox: Outbox;
  /** Absent: apps' tables are not touched. */
  rows?: RowsPlace;
  /** Told each tag once it is committed, so that who changed something sees it changed at once. */
  onCommitted?: (tag: string) => void;
}

export interface RowsPlace {
  /** Where apps' tables live on another server; null: in this database. */
  db: Db | null;
  role: string | null;
}

export type MutationResult = { kind: 'previewed'; plan: Plan } | { kind: 'done'; answer: StoredAnswer };

const attemptsMax = 3;

/**
 * The one way anything changes: one verb, one transaction. Preview, audit, idempotency, effects outside and the
 * dropping of caches all follow from what the verb records while it runs.
 */
export async function runMutation(base: MutationBase, request: MutationRequest): Promise<MutationResult> {
  for (let attempt = 1; ; attempt++) {
    const tx = await base.db.startTransaction().execute();
    let beside: Tx | null = null;
    const tags = new Set<string>();
    const rows: RowsAccess = {
      role: base.rows?.role ?? null,
      tx: async () => {
        if (!base.rows?.db) return tx;
        beside ??= await base.rows.db.startTransaction().execute();
        return beside;
      },
    };
    try {
      const result = await runOnce(base, tx, rows, tags, request);
      // The caller was told that it failed: then it has.
      if (request.deadline?.aborted) throw fail('query_timeout');
      for (const each of [beside, tx]) await end(each, result.kind === 'previewed' ? 'rollback' : 'commit');
      if (result.kind === 'done') for (const tag of tags) base.onCommitted?.(tag);
      return result;
    } catch (error) {
      for (const each of [beside, tx]) await end(each, 'rollback').catch(() => {});
      if (isRetryable(error) && attempt < attemptsMax) continue;
      throw error;
    }
  }
}

async function end(tx: Tx | null, how: 'commit' | 'rollback'): Promise<void> {
  if (!tx || tx.isCommitted || tx.isRolledBack) return;
  await (how === 'commit' ? tx.commit() : tx.rollback()).execute();
}

async function runOnce(
  base: MutationBase,
  tx: Tx,
  rows: RowsAccess,
  tags: Set<string>,
  request: MutationRequest,
): Promise<MutationResult> {
  const now = await transactionTime(tx);
  // A preview neither replays nor keeps: it has no effect that could happen twice.
  const idempotency = request.mode === 'execute' ? request.idempotency : undefined;
  const before = idempotency ? await claimKey(tx, idempotency) : null;

  const ids = new Set<string>();
  const changes: AuditedChange[] = [];
  const effects: QueuedEffect[] = [];
  const warnings: string[] = [];
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
    changed: (tag) => void tags.add(tag),
    warn: (text) => void warnings.push(text),
    rows,
  };
  if (before) {
    await request.beforeReplay?.(ctx);
    return { kind: 'done', answer: before };
  }
  const answer = await request.verb(ctx);

  const plan = makePlan(request.operation, changes, warnings, { ids, now });
  if (request.mode === 'preview') return { kind: 'previewed', plan };
  if (request.ifPlan !== undefined && request.ifPlan !== plan.fingerprint) throw fail('plan_stale');

  for (const tag of tags) await tx.executeQuery(CompiledQuery.raw(notifySql, [tag]));
  const actor = { kind: base.caller.kind, id: base.caller.userId, name: base.caller.email };
  const head = await appendAudit(
    tx,
    { tenantId: request.auditTenantId, at: now, actor, requestId: base.requestId },
    changes.filter((change) => changesOf(change).length > 0),
  );
  if (head) effects.push({ id: Bun.randomUUIDv7(), topic: 'audit.anchor', payload: { ...head } });
  await base.outbox.add(tx, now, effects);
  if (idempotency) await keepAnswer(tx, idempotency, answer);
  return { kind: 'done', answer };
}
