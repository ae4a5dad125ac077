import type { Plan } from './contract/plan.js';
import { type AnyCondition, type Condition } from './condition.js';
import type { CallOptions, TableTarget } from './query.js';
/** One condition, or several that must all hold. */
export type Filter<Row> = Condition<Row> | readonly Condition<Row>[];
export interface ManyOptions extends CallOptions {
    /** If more rows match, the call fails with `max_affected_exceeded` and changes nothing: 100 by default, at most 10,000. */
    maxAffected?: number;
    /** `fingerprint` of a plan: fails with `plan_stale` if other rows match than were previewed. */
    ifPlan?: string;
    /** Also returns the rows. */
    returning?: 'rows';
    /** Makes a repeated call return the first result. By default each call has its own, which allows retries. */
    idempotencyKey?: string;
}
export interface ManyChanged<Row> {
    ids: (string | number | null)[];
    /** Present with `returning: 'rows'`. */
    rows?: Row[];
}
export declare function changeMany<Row>({ transport, path }: TableTarget, method: 'PATCH' | 'DELETE', filter: Filter<Row>, values: object | undefined, options: ManyOptions & {
    dryRun?: boolean;
}): Promise<{
    plan: Plan;
} | (ManyChanged<Row> & {
    count: number;
})>;
export declare function conditionsOf(filter: AnyCondition | readonly AnyCondition[]): readonly AnyCondition[];
