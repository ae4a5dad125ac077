import { sql } from 'kysely';
import { type MutationCtx, platformTenantId } from './context.ts';
import type { Db } from './db.ts';
import {
  currentGeneration,
  type Generation,
  insertGeneration,
  type Key,
  keysTag,
  loadGenerations,
} from './keys.ts';
import { type OperatorDeps, runAsOperator } from './mutation.ts';
import { fail } from './problem.ts';
import { type SealingKey, seal, sealingKey, unseal } from './seal.ts';

export async function rotateKey(ctx: MutationCtx, key: Key): Promise<{ generation: number; activeAt: Date }> {
  const [previous] = await loadGenerations(ctx.db, key);
  const generation = (previous?.generation ?? 0) + 1;
  const value = await key.create(previous?.value ?? null);
  if (!(await insertGeneration(ctx.db, key, { ...key, generation, value })))
    throw fail('invalid_state_transition', { detail: `Another command is rotating the key ${key.name}.` });
  ctx.audit({
    action: 'keys.rotate',
    target: { kind: 'key', id: key.name, name: key.name },
    before: { generation: previous?.generation ?? null },
    after: { generation },
  });
  ctx.invalidate(keysTag);
  const [created] = await loadGenerations(ctx.db, key);
  if (!created) throw new Error(`Key ${key.name} was not stored.`);
  return { generation, activeAt: created.activeAt };
}

interface Superseded {
  generation: number;
  acceptedUntil: Date;
}

export function supersededGenerations(
  { acceptedSeconds }: Pick<Key, 'acceptedSeconds'>,
  newestFirst: readonly Pick<Generation<unknown>, 'generation' | 'activeAt'>[],
  now: Date,
): Superseded[] {
  const current = currentGeneration(newestFirst, now.getTime());
  return newestFirst.flatMap(({ generation }, at) => {
    const successor = newestFirst[at - 1];
    if (!successor || generation >= current.generation) return [];
    return [{ generation, acceptedUntil: new Date(successor.activeAt.getTime() + acceptedSeconds * 1000) }];
  });
}

export async function retireGenerations(deps: OperatorDeps & { now: () => Date }, keys: readonly Key[]) {
  const { db } = deps;
  const { rows } = await sql<{ name: string }>`
    select name from svc.key_generations group by name having count(*) > 1`.execute(db);
  const rotated = new Set(rows.map(({ name }) => name));
  for (const key of keys.filter(({ name }) => rotated.has(name))) await retireKey(deps, key);
}

async function retireKey(deps: OperatorDeps & { now: () => Date }, key: Key): Promise<void> {
  const { db, log } = deps;
  const generations = await loadGenerations(db, key);
  const superseded = supersededGenerations(key, generations, deps.now());
  if (superseded.length === 0) return;
  if (key.kind === 'sealing')
    await resealColumns(deps, key as Key<string>, generations as Generation<string>[]);
  const isSuperseded = ({ generation }: { generation: number }) =>
    superseded.some((each) => each.generation === generation);
  await key.replaceCopies?.(db, {
    previous: generations.filter(isSuperseded).map(({ value }) => value),
    current: currentGeneration(generations, deps.now().getTime()).value,
  });
  const left = await countSealed(db, key);
  for (const { generation, acceptedUntil } of superseded) {
    if (acceptedUntil > deps.now() || (left.get(generation) ?? 0) > 0) continue;
    await runAsOperator(deps, { name: 'keys.delete', auditTenantId: platformTenantId }, async (ctx) => {
      await sql`delete from svc.key_generations where name = ${key.name} and generation = ${generation}`.execute(
        ctx.db,
      );
      ctx.audit({
        action: 'keys.delete',
        target: { kind: 'key', id: key.name, name: key.name },
        before: { generation },
        after: null,
      });
      ctx.invalidate(keysTag);
    });
    log.info({ key: key.name, generation }, 'key generation deleted');
  }
}

const batchRows = 200;

async function resealColumns(
  { db, log, now }: OperatorDeps & { now: () => Date },
  key: Key<string>,
  generations: readonly Generation<string>[],
): Promise<void> {
  const current = currentGeneration(generations, now().getTime()).generation;
  const opener: SealingKey = { ...(await sealingKey(db, key)), current };
  for (const [name, boundTo] of Object.entries(key.columns)) {
    const failed = await resealColumn(db, opener, { ...columnRefs(name), boundTo });
    if (failed > 0)
      log.error({ key: key.name, column: name, values: failed }, 'sealed values cannot be opened');
  }
}

/** A value that changes meanwhile is left alone: the change sealed it with the current generation. */
async function resealColumn(
  db: Db,
  key: SealingKey,
  { table, column, boundTo }: ColumnRefs & { boundTo: string },
): Promise<number> {
  let failed = 0;
  let after = '(0,0)';
  for (;;) {
    const { rows } = await sql<{ id: string; sealed: Buffer; bound: string }>`
      select ctid::text as id, ${column} as sealed, ${sql.raw(boundTo)} as bound from ${table}
      where ctid > ${after}::tid and ${generationOf(column)} <> int4send(${key.current}::int)
      order by ctid limit ${batchRows}`.execute(db);
    for (const { id, sealed, bound } of rows) {
      after = id;
      try {
        const text = unseal(key, { sealed, boundTo: bound });
        await sql`update ${table} set ${column} = ${seal(key, { text, boundTo: bound })}
          where ctid = ${id}::tid and ${column} = ${sealed}`.execute(db);
      } catch (error) {
        if (error instanceof Error && 'severity' in error) throw error;
        failed++;
      }
    }
    if (rows.length < batchRows) return failed;
  }
}

export async function countSealed(db: Db, key: Key): Promise<Map<number, number>> {
  const counts = new Map<number, number>();
  for (const name of Object.keys(key.columns)) {
    const { table, column } = columnRefs(name);
    const { rows } = await sql<{ sealed: Buffer; count: number }>`
      select ${generationOf(column)} as sealed, count(*) as count from ${table}
      where ${column} is not null group by 1`.execute(db);
    for (const { sealed, count } of rows) {
      const generation = sealed.readInt32BE();
      counts.set(generation, (counts.get(generation) ?? 0) + count);
    }
  }
  return counts;
}

type ColumnRefs = ReturnType<typeof columnRefs>;

function columnRefs(name: string) {
  const [table = '', column = ''] = name.split('.');
  return { table: sql.id('svc', table), column: sql.id(column) };
}

const generationOf = (column: ColumnRefs['column']) => sql`substring(${column} from 1 for 4)`;
