import type { Logger } from 'pino';
import { type MutationCtx, platformTenantId, type RowTx } from '../../core/context.ts';
import { type Db, type LoggedStatement, rollBackQuietly, sqlState, type Tx } from '../../core/db.ts';
import { type OperatorDeps, type RowIntents, runAsOperator, UnfinishedTables } from '../../core/mutation.ts';
import { fail } from '../../core/problem.ts';
import { appTag, tableTag } from '../../core/tags.ts';
import {
  type Definition,
  deleteIntent,
  deleteMark,
  deleteOldMarks,
  deleteUndoneIntents,
  insertIntent,
  listIntents,
  lockIntent,
  markDone,
  markUndone,
  type OpenIntent,
  readDefinitions,
  recordAttempt,
  restoreDefinitions,
  type TableIntent,
  transactionStatus,
} from './intents-store.ts';
import { run, runStatement } from './lock-table.ts';

interface IntentDeps extends Omit<OperatorDeps, 'rows'> {
  rowsDb: Db;
  epoch: string;
}

export interface TableIntents extends RowIntents {
  completeAll(options?: { olderThanMs?: number }): Promise<void>;
}

type Outcome = 'done' | 'undone' | 'open';

const findOutMsMax = 5_000;
const completeMsMax = 5_000;
const pauseMs = 100;
const statementMsMax = 60_000;
/** Later readers wait behind a lock request: see `lock-table.ts`. */
const lockMsMax = 1_150;

/**
 * Changes of tables in a second database. The transaction there runs first, so that rows which do not allow the change refuse
 * it. Then the catalogue commits, and with it the intent: the statements of that transaction. Then the transaction commits. If
 * it cannot, its statements are run again; if rows that were written in between do not allow them, the catalogue is restored.
 */
export function createTableIntents(deps: IntentDeps): TableIntents {
  const { db, rowsDb, log, epoch } = deps;

  async function commit(tx: Tx, rowsTx: RowTx): Promise<void> {
    const statements = [...(rowsTx.statements?.list() ?? [])];
    if (statements.length === 0) {
      await rowsTx.commit().execute();
      await tx.commit().execute();
      return;
    }
    const id = Bun.randomUUIDv7();
    const touched = await touchedTables(db, tx, statements);
    const xid = await insertIntent(tx, { id, epoch, statements, ...touched });
    await markDone(rowsTx, id);
    await commitOrFindOut(tx, xid);
    try {
      await rowsTx.commit().execute();
    } catch (error) {
      log.warn({ err: error, intent: id }, 'commit of a table change failed; its statements are run again');
      await rollBackQuietly(rowsTx);
      if ((await completeWithRetries({ id, tenant_id: touched.tenant_id })) === 'undone') throw undoneError();
      return;
    }
    try {
      await deleteIntent(db, id);
      await deleteMark(rowsDb, id);
    } catch (error) {
      log.debug({ err: error, intent: id }, 'a finished table change is still recorded as open');
    }
  }

  /** A commit whose answer is lost may have happened. */
  async function commitOrFindOut(tx: Tx, xid: string): Promise<void> {
    try {
      await tx.commit().execute();
    } catch (error) {
      await rollBackQuietly(tx);
      for (const end = Date.now() + findOutMsMax; ; await Bun.sleep(pauseMs)) {
        const status = await transactionStatus(db, xid).catch(() => null);
        if (status === 'committed') return;
        if (status === 'aborted' || Date.now() > end) throw error;
      }
    }
  }

  async function complete({ id, tenant_id }: OpenIntent): Promise<Outcome> {
    const change = { name: 'tables.finishChange', auditTenantId: tenant_id };
    const outcome = await runAsOperator(deps, change, async (ctx): Promise<Outcome> => {
      const intent = await lockIntent(ctx.db, id);
      if (intent === null) return 'done';
      if (intent === 'busy') return 'open';
      if (intent === 'undone') return 'undone';
      await run(ctx.db, `set local idle_in_transaction_session_timeout = ${2 * statementMsMax}`);
      const refusal = await runAgain(intent);
      if (refusal) await undo(ctx, intent, refusal);
      else await deleteIntent(ctx.db, id);
      return refusal ? 'undone' : 'done';
    });
    if (outcome === 'done') await deleteMark(rowsDb, id);
    return outcome;
  }

  async function runAgain(intent: TableIntent): Promise<Error | null> {
    if (intent.epoch !== epoch) {
      log.warn({ intent: intent.id }, 'a table change is left: its database was restored or replaced');
      return null;
    }
    const tx = await rowsDb.startTransaction().execute();
    try {
      await run(tx, `set local lock_timeout = ${lockMsMax}; set local statement_timeout = ${statementMsMax}`);
      // Waits while the first transaction is still open.
      if (await markDone(tx, intent.id)) {
        for (const statement of intent.statements) await runStatement(tx, statement, statementMsMax + 2_000);
      }
      await tx.commit().execute();
      return null;
    } catch (error) {
      await rollBackQuietly(tx);
      if (error instanceof Error && isAboutRows(sqlState(error))) return error;
      throw error;
    }
  }

  async function undo(ctx: MutationCtx, intent: TableIntent, cause: Error): Promise<void> {
    log.warn(
      { err: cause, intent: intent.id },
      'a table change is undone: rows written meanwhile do not allow it',
    );
    await markUndone(ctx.db, intent.id);
    for (const { id, app_id, name } of await restoreDefinitions(ctx.db, intent, ctx.now)) {
      ctx.audit({
        action: 'tables.undo',
        appId: app_id,
        target: { kind: 'table', id, name },
        before: null,
        after: { reason: 'Rows that were written at the same time do not allow the change.' },
      });
    }
    for (const id of intent.table_ids) ctx.invalidate(tableTag(id));
    for (const id of intent.app_ids) ctx.invalidate(appTag(id));
  }

  async function completeWithRetries(intent: OpenIntent): Promise<Outcome> {
    for (const end = Date.now() + completeMsMax; ; await Bun.sleep(pauseMs)) {
      const outcome = await complete(intent).catch((error: unknown) => {
        log.warn({ err: error, intent: intent.id }, 'finishing a table change failed');
        return 'open' as const;
      });
      if (outcome !== 'open' || Date.now() > end) return outcome;
    }
  }

  return {
    commit,
    async requireFinished(tx, appId) {
      if ((await listIntents(tx, { appId })).length > 0) throw new UnfinishedTables(appId);
    },
    async completeForApp(appId) {
      for (const intent of await listIntents(db, { appId })) {
        if ((await completeWithRetries(intent)) === 'open')
          throw fail('unavailable', {
            detail: 'An earlier change of the tables is not finished yet. Try again.',
          });
      }
    },
    async completeAll({ olderThanMs = 0 } = {}) {
      await deleteUndoneIntents(db);
      for (const intent of await listIntents(db, { olderThanMs })) {
        await complete(intent).catch(async (error: unknown) => {
          log.warn({ err: error, intent: intent.id }, 'finishing a table change failed');
          await recordAttempt(db, intent.id, error).catch(() => {});
        });
      }
    },
  };
}

/** Data exceptions, violated constraints, and values that are too large for an index. */
const isAboutRows = (state: string | null) => /^(22|23|54)/.test(state ?? '');

const undoneError = () =>
  fail('table_busy', {
    detail: 'Rows that were written at the same time do not allow the change. Nothing was changed.',
  });

/** Tables named in the statements that `tx` has changed in the catalogue, and their definitions before. */
async function touchedTables(db: Db, tx: Tx, statements: readonly LoggedStatement[]) {
  const texts = statements.map(({ text }) => text).join('\n');
  const idsAfter = (prefix: string) => {
    const found = texts.matchAll(
      new RegExp(`\\b${prefix}_([0-9a-f]{8})(.{4})(.{4})(.{4})([0-9a-f]{12})\\b`, 'g'),
    );
    return [...new Set([...found].map(([, ...parts]) => parts.join('-')))];
  };
  const named = idsAfter('t');
  // Reads the committed state: `tx` has locked what it has changed.
  const before = await readDefinitions(db, named);
  const after = await readDefinitions(tx, named);
  const table_ids = named.filter((id) => before.get(id) !== after.get(id));
  const [some] = [...before.values(), ...after.values()];
  const tenant_id = some === undefined ? platformTenantId : (JSON.parse(some) as Definition).table.tenant_id;
  return {
    tenant_id,
    app_ids: idsAfter('app'),
    table_ids,
    before: table_ids.flatMap((id) => before.get(id) ?? []),
  };
}

const pollMs = 2_000;

export function pollIntents({
  intents,
  log,
  ...databases
}: {
  intents: Pick<TableIntents, 'completeAll'>;
  log: Logger;
  db: Db;
  rowsDb: Db;
}): () => Promise<void> {
  let isStopping = false;
  let timer: Timer | undefined;
  let running = Promise.resolve();
  const poll = (olderThanMs: number) => {
    running = intents
      .completeAll({ olderThanMs })
      .then(() => (olderThanMs === 0 ? deleteOldMarks(databases) : undefined))
      .catch((error: unknown) => log.warn({ err: error }, 'looking for unfinished table changes failed'))
      .then(() => {
        if (!isStopping) timer = setTimeout(() => poll(pollMs), pollMs);
      });
  };
  poll(0);
  return async () => {
    isStopping = true;
    clearTimeout(timer);
    await running;
  };
}
