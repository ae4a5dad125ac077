import type { Plan } from '@svc/contract/plan.ts';
import { toJson } from './encode.ts';
import type { CallOptions } from './query.ts';
import { randomText } from './random-text.ts';
import { readJson } from './read-json.ts';
import type { Transport } from './transport.ts';

/** A value of the row of an earlier operation with a name: `{ $ref: 'order.id' }`. */
export interface Reference {
  $ref: `${string}.${string}`;
}

type WithReferences<Values> = { [Name in keyof Values]: Values[Name] | Reference };
type OperationId = string | number | bigint | Reference;

export interface TableTypes {
  Row: object;
  Insert: object;
  Update: object;
}

/** One change of a batch. `as` names its row for later operations. */
export type Operation<Name extends string, Types extends TableTypes> =
  | { op: 'insert'; table: Name; as?: string; values: WithReferences<Types['Insert']> }
  | {
      op: 'update';
      table: Name;
      as?: string;
      id: OperationId;
      /** The ETag that the row must have. */
      if_match?: string;
      values: WithReferences<Types['Update']>;
    }
  | { op: 'delete'; table: Name; id: OperationId; if_match?: string }
  | {
      op: 'upsert';
      table: Name;
      as?: string;
      /** Columns of a unique constraint, `a,b`; the id by default. */
      on_conflict?: string;
      resolution?: 'merge' | 'ignore';
      values: WithReferences<Types['Insert']>;
    };

export type OperationOf<DB extends { [Name in keyof DB]: TableTypes }> = {
  [Name in keyof DB & string]: Operation<Name, DB[Name]>;
}[keyof DB & string];

export interface OperationResult<Row = object> {
  op: 'insert' | 'update' | 'delete' | 'upsert';
  status: number;
  id?: string | number;
  etag?: string;
  /** Absent of a deletion, and of a row that you may not read. */
  row?: Row;
}

export interface OperationsOptions extends CallOptions {
  /** By default each call has its own, which allows retries. */
  idempotencyKey?: string;
  /** `fingerprint` of a plan: fails with `plan_stale` if the batch would do something else. */
  ifPlan?: string;
}

export async function runOperations(
  { transport, path }: { transport: Transport; path: string },
  operations: readonly object[],
  options: OperationsOptions & { dryRun?: boolean },
): Promise<{ plan: Plan } | { results: OperationResult[] }> {
  const { signal, dryRun, ifPlan, idempotencyKey = randomText() } = options;
  return transport.exchange(
    {
      method: 'POST',
      path: `${path}/_batch`,
      headers: {
        'content-type': 'application/json',
        'idempotency-key': idempotencyKey,
        ...(ifPlan !== undefined && { 'if-plan': ifPlan }),
      },
      ...(dryRun && { query: [['dry_run', 'true']] as const }),
      body: toJson({ operations }),
      onFault: 'repeat',
      signal,
    },
    readJson<{ plan: Plan } | { results: OperationResult[] }>,
  );
}
