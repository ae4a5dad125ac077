import { CompiledQuery } from 'kysely';
import type { Tx } from '../plumbing/db.ts';
import type { Statement } from './ddl.ts';

export async function runStatements(tx: Tx, statements: readonly Statement[]): Promise<void> {
  for (const statement of statements) await runStatement(tx, statement);
}

/** The driver gives up on a statement after a time that is the pool's, unless the query brings one of its own. */
export async function runStatement(tx: Tx, { text, values }: Statement, msMax?: number): Promise<void> {
  const query = msMax === undefined ? text : ({ text, query_timeout: msMax } as unknown as string);
  await tx.executeQuery(CompiledQuery.raw(query, [...(values ?? [])]));
}
