import type { Plan } from '@svc/contract/plan.ts';
import { type AnyCondition, type Condition, toParameter } from './condition.ts';
import { toJson } from './encode.ts';
import type { CallOptions, TableTarget } from './query.ts';
import { randomText } from './random-text.ts';
import { readJson } from './read-json.ts';

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

interface Answer<Row> {
  updated?: number;
  deleted?: number;
  ids?: ManyChanged<Row>['ids'];
  data?: Row[];
  plan?: Plan;
}

export async function changeMany<Row>(
  { transport, path }: TableTarget,
  method: 'PATCH' | 'DELETE',
  filter: Filter<Row>,
  values: object | undefined,
  options: ManyOptions & { dryRun?: boolean },
): Promise<{ plan: Plan } | (ManyChanged<Row> & { count: number })> {
  const { maxAffected, ifPlan, returning, dryRun, signal, idempotencyKey = randomText() } = options;
  const query = conditionsOf(filter as AnyCondition | readonly AnyCondition[]).map(toParameter);
  if (query.length === 0) throw new TypeError('A change of many rows needs a condition.');
  if (maxAffected !== undefined) query.push(['_max_affected', String(maxAffected)]);
  if (dryRun) query.push(['dry_run', 'true']);
  const headers: Record<string, string> = { 'idempotency-key': idempotencyKey };
  if (returning === 'rows') headers.prefer = 'return=representation';
  if (ifPlan !== undefined) headers['if-plan'] = ifPlan;
  if (values) headers['content-type'] = 'application/json';
  const body = values && { body: toJson(values) };
  const answer = await transport.exchange(
    { method, path, query, headers, ...body, onFault: 'repeat', signal },
    readJson<Answer<Row>>,
  );
  if (answer.plan) return { plan: answer.plan };
  const { updated, deleted, ids = [], data } = answer;
  return { count: updated ?? deleted ?? 0, ids, ...(data && { rows: data }) };
}

export function conditionsOf(filter: AnyCondition | readonly AnyCondition[]): readonly AnyCondition[] {
  const isList = Array.isArray(filter) && typeof filter[0] !== 'string';
  return isList ? (filter as readonly AnyCondition[]) : [filter as AnyCondition];
}
