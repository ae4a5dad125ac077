export interface Plan {
  operation: string;
  target: PlanTarget;
  changes: PlanChange[];
  warnings: string[];
  irreversible: boolean;
  /** Access that people gain and lose by the change. Not part of the fingerprint. */
  effects?: PlanEffect[];
  /** How many more tables of grants may be concerned than `effects` was computed for. */
  effects_left_off?: number;
  /** Send it as `If-Plan` with the execution to refuse drift. */
  fingerprint: string;
}

export interface PlanEffect {
  grant_id: string;
  subject: { kind: string; id: string; name: string };
  path: string;
  /** Null where they are not counted: the rows differ between the members of a group, or could not be read. */
  rows: { before: number; after: number; gained: number; lost: number } | null;
  columns_gained: string[];
  columns_lost: string[];
  /** Columns that change between clear and masked, or to another mask. */
  masks: { column: string; before: string; after: string }[];
  /** The same in words. */
  text: string;
}

export interface PlanTarget {
  kind: string;
  id: string;
  name: string;
}

export interface PlanChange {
  path: string;
  before: unknown;
  after: unknown;
  effect: 'create' | 'update' | 'delete';
}

export interface Preview {
  dry_run: true;
  plan: Plan;
}
