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
