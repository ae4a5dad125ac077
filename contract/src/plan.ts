/** What a mutation would do: the answer to `?dry_run=true`. */
export interface Plan {
  operation: string;
  target: PlanTarget;
  changes: PlanChange[];
  warnings: string[];
  irreversible: boolean;
  /** Send it as `If-Plan` with the execution to refuse drift. */
  fingerprint: string;
}

export interface PlanTarget {
  kind: string;
  /** `(assigned on execution)` for what does not exist yet. */
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
