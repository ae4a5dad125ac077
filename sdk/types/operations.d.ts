import type { Plan } from './contract/plan.js';
import type { CallOptions } from './query.js';
import type { Transport } from './transport.js';
/** A value of the row of an earlier operation with a name: `{ $ref: 'order.id' }`. */
export interface Reference {
    $ref: `${string}.${string}`;
}
type WithReferences<Values> = {
    [Name in keyof Values]: Values[Name] | Reference;
};
type OperationId = string | number | bigint | Reference;
export interface TableTypes {
    Row: object;
    Insert: object;
    Update: object;
}
/** One change of a batch. `as` names its row for later operations. */
export type Operation<Name extends string, Types extends TableTypes> = {
    op: 'insert';
    table: Name;
    as?: string;
    values: WithReferences<Types['Insert']>;
} | {
    op: 'update';
    table: Name;
    as?: string;
    id: OperationId;
    /** The ETag that the row must have. */
    if_match?: string;
    values: WithReferences<Types['Update']>;
} | {
    op: 'delete';
    table: Name;
    id: OperationId;
    if_match?: string;
} | {
    op: 'upsert';
    table: Name;
    as?: string;
    /** Columns of a unique constraint, `a,b`; the id by default. */
    on_conflict?: string;
    resolution?: 'merge' | 'ignore';
    values: WithReferences<Types['Insert']>;
};
export type OperationOf<DB extends {
    [Name in keyof DB]: TableTypes;
}> = {
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
export declare function runOperations({ transport, path }: {
    transport: Transport;
    path: string;
}, operations: readonly object[], options: OperationsOptions & {
    dryRun?: boolean;
}): Promise<{
    plan: Plan;
} | {
    results: OperationResult[];
}>;
export {};
