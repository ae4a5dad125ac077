import { type ColumnSpec, parseColumnSpec } from '@svc/contract/column-spec.ts';
import { sql } from 'kysely';
import pg from 'pg';
import pino from 'pino';
import type { AppAccess, Caller, TenantAccess } from '../../core/context.ts';
import { openControlDatabase } from '../../core/db.ts';
import { runAs } from '../../core/mutation.ts';
import { rowsOnlyOutbox } from '../../core/outbox-worker.ts';
import { Failure } from '../../core/problem.ts';
import { qualifiedTable } from './catalogue.ts';
import { executeStep, type SchemaStep } from './schema-steps.ts';
import { findTableRow } from './store.ts';
import { createTableIntents } from './table-intents.ts';

/** As JSON, for another process, which loads little because it starts often. */
export interface CrashWorld {
  controlUrl: string;
  dataUrl: string;
  epoch: string;
  tenant: TenantAccess;
  owner: Caller;
  app: AppAccess;
}

/**
 * The end of the process: at the nth statement, or where the nth change of tables commits in one of the two databases; before
 * that is sent, after that, or after its answer.
 */
export interface CrashPoint {
  of: 'statement' | 'commit of catalogue' | 'commit of tables';
  nth: number;
  when: (typeof crashTimes)[number];
}

export const crashTimes = ['before', 'sent', 'answered'] as const;

/** A second change of the same process begins with what the first one has left in connections and databases. */
export const commitPoints: readonly CrashPoint[] = (
  ['commit of catalogue', 'commit of tables'] as const
).flatMap((of) => [1, 2].flatMap((nth) => crashTimes.map((when) => ({ of, nth, when }))));

/** Whether the change is recorded and not completed; null if that depends on the moment. */
export function leavesIntent({ of, when }: CrashPoint): boolean | null {
  if (of === 'statement' || when === 'sent') return null;
  return of === 'commit of tables' || when === 'answered';
}

export const filledRows = 3;

const column = (text: string) => parseColumnSpec(text) as ColumnSpec;
const words = { columns: [], unique: false, search: { s: 'A' as const }, name: 'words' };
const unique = { columns: ['n'], unique: true, name: 'by_n' };

const steps: readonly SchemaStep[] = [
  { kind: 'add_column', table: 'base', column: column('added:int:7') },
  { kind: 'add_index', table: 'base', index: unique },
  {
    kind: 'create_table',
    table: 'extra',
    as: { description: '', columns: ['n:int', 'b:ref:base:nullable'].map(column), owner_column: null },
  },
  { kind: 'change_column', table: 'base', before: column('s:text:nullable'), after: column('s:text') },
  { kind: 'update_table', table: 'base', before: { changes: false }, after: { changes: true } },
  { kind: 'drop_column', table: 'base', column: column('added:int') },
  { kind: 'drop_index', table: 'base', index: unique },
  { kind: 'drop_table', table: 'extra' },
  { kind: 'change_column', table: 'base', before: column('s:text'), after: column('s:text:nullable') },
  { kind: 'update_table', table: 'base', before: { changes: true }, after: { changes: false } },
  { kind: 'add_index', table: 'base', index: words },
  { kind: 'add_column', table: 'base', column: column('wide:int:1') },
  { kind: 'change_column', table: 'base', before: column('wide:int:1'), after: column('wide:bigint:1') },
  { kind: 'drop_index', table: 'base', index: words },
  { kind: 'drop_column', table: 'base', column: column('wide:int') },
];

export const stepsCount = steps.length;

function crashAt({ of, nth, when }: CrashPoint): void {
  const die = () => process.kill(process.pid, 'SIGKILL');
  const query = pg.Client.prototype.query as unknown as (...input: unknown[]) => Promise<unknown>;
  /** Connections with a transaction that changes tables, which records it in both databases. */
  const changing = new WeakMap<pg.Client, CrashPoint['of']>();
  let seen = 0;
  pg.Client.prototype.query = function (this: pg.Client, ...input: unknown[]) {
    const text = String(input[0]);
    if (text.includes('insert into svc.table_intents')) changing.set(this, 'commit of catalogue');
    if (text.includes('insert into svc_data.table_intents')) changing.set(this, 'commit of tables');
    const commit = text === 'commit' ? changing.get(this) : undefined;
    if (text === 'commit' || text === 'rollback') changing.delete(this);
    const isHere = (of === 'statement' || of === commit) && ++seen === nth;
    if (isHere && when === 'before') die();
    const answer = query.apply(this, input);
    if (isHere && when === 'sent') setTimeout(die, 2);
    if (isHere && when === 'answered') void answer.then(die);
    return answer;
  } as unknown as typeof pg.Client.prototype.query;
}

/** Changes the tables of an app until the process kills itself. Begins with a line of input; prints what is done. */
export async function changeTablesUntil(
  point: CrashPoint,
  firstStep: number,
  world: CrashWorld,
): Promise<never> {
  const { tenant, app, owner } = world;
  const { db } = openControlDatabase(world.controlUrl, { connectionsMax: 4, onError: () => {} });
  const second = openControlDatabase(world.dataUrl, { connectionsMax: 2, onError: () => {} });
  const deps = { db, outbox: rowsOnlyOutbox, log: pino({ level: 'silent' }), events: [] };
  const intents = createTableIntents({ ...deps, rowsDb: second.db, epoch: world.epoch });
  const rows = { db: second.db, role: null, intents };
  const change = { name: 'test', auditTenantId: tenant.id };
  await sql`select 1`.execute(db);
  console.log('ready');
  for await (const _ of Bun.stdin.stream()) break;
  crashAt(point);
  for (let at = firstStep; ; at++) {
    const step = steps[at % steps.length] as SchemaStep;
    try {
      await runAs({ ...deps, rows }, owner, change, (ctx) => executeStep({ ...ctx, tenant, app }, step));
    } catch (error) {
      // Already made, or not possible before another one.
      if (!(error instanceof Failure) || error.code === 'unavailable') throw error;
      continue;
    }
    console.log(`${step.kind} ${step.table}`);
    if (step.kind === 'create_table') {
      const table = await findTableRow(db, { tenantId: tenant.id, appId: app.id }, step.table);
      if (!table) throw new Error('The new table is not defined.');
      await sql`insert into ${sql.raw(qualifiedTable(table))} (v, c1, c2, c4, c5)
        select 1, gen_random_uuid(), n, now(), now() from generate_series(1, ${filledRows}) n`.execute(
        second.db,
      );
      console.log('filled');
    }
  }
}
