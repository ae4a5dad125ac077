import type { CountMode, FilterOp, IsKeyword } from '@svc/contract/rows.ts';

/** A query as it was written. Whether its columns exist and its values fit is the planner's to say. */
export interface ParsedQuery {
  /** Null for every visible column. */
  select: SelectItem[] | null;
  /** All must hold. */
  where: Condition[];
  sort: SortKey[];
  page: number | null;
  perPage: number | null;
  cursor: string | null;
  count: CountMode | null;
  onConflict: string | null;
  dryRun: boolean;
}

export interface SelectItem {
  column: string;
  /** The key in the answer; the column's name where none was given. */
  alias: string;
}

export interface SortKey {
  column: string;
  descending: boolean;
}

export type Condition = Test | Group;

export interface Group {
  kind: 'and' | 'or';
  negated: boolean;
  parts: Condition[];
}

export type Test = { kind: 'test'; column: string; negated: boolean } & Comparison;

export type Comparison =
  /** Of `like` and `ilike` a pattern as SQL reads it, `\` the escape; of all others the value verbatim. */
  | { op: TextOp; operand: string }
  /** An empty list matches nothing. */
  | { op: 'in'; operand: string[] }
  | { op: 'between'; operand: [string, string] }
  | { op: 'is'; operand: IsKeyword };

export type TextOp = Exclude<FilterOp, 'in' | 'between' | 'is'>;
