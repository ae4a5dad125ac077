import type { Config } from '../../config.ts';
import type { ControlDatabase } from '../../core/db.ts';
import type { Database } from '../../drivers/database/database.ts';

export interface Finding {
  status: 'ok' | 'warning' | 'problem';
  detail: string;
  hint: string;
}

export interface DatabaseFacts {
  config: Config;
  database: Database;
  control: ControlDatabase;
}

export type Check =
  | { name: string; needs: 'config'; run(config: Config): Promise<Finding> }
  | { name: string; needs: 'database'; run(facts: DatabaseFacts): Promise<Finding> };

export const configCheck = (name: string, run: (config: Config) => Promise<Finding>): Check => ({
  name,
  needs: 'config',
  run,
});
export const databaseCheck = (name: string, run: (facts: DatabaseFacts) => Promise<Finding>): Check => ({
  name,
  needs: 'database',
  run,
});

export const ok = (detail: string): Finding => ({ status: 'ok', detail, hint: '' });
export const warning = (detail: string, hint: string): Finding => ({ status: 'warning', detail, hint });
export const problem = (detail: string, hint: string): Finding => ({ status: 'problem', detail, hint });

export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
