import type { Config } from '../../config.ts';
import type { Database } from '../../drivers/database/database.ts';
import type { ControlDatabase } from '../../plumbing/db.ts';

export interface Finding {
  status: 'ok' | 'warning' | 'problem';
  detail: string;
  /** What to do; empty when there is nothing to do. */
  hint: string;
}

export interface DatabaseFacts {
  config: Config;
  database: Database;
  control: ControlDatabase;
}

/** One thing to look at. It changes nothing, and what it can not find out it throws. */
export type Check =
  | { name: string; needs: 'config'; run(config: Config): Promise<Finding> }
  | { name: string; needs: 'database'; run(facts: DatabaseFacts): Promise<Finding> };

export const ok = (detail: string): Finding => ({ status: 'ok', detail, hint: '' });
export const warning = (detail: string, hint: string): Finding => ({ status: 'warning', detail, hint });
export const problem = (detail: string, hint: string): Finding => ({ status: 'problem', detail, hint });

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
