import { migrationsDirectory } from '../../migrations-directory.ts';
import { readMigrations } from '../../plumbing/migrate.ts';
import { compareMigrations } from '../migration-state.ts';
import { readAppliedMigrations } from '../system.ts';
import { type Check, ok, problem, warning } from './check.ts';

export const migrations: Check = {
  name: 'migrations',
  needs: 'database',
  run: async ({ control }) => {
    const applied = await readAppliedMigrations(control);
    const state = compareMigrations(readMigrations(migrationsDirectory), applied);
    if (state.changed.length > 0) {
      return problem(
        `Changed after they were applied: ${state.changed.join(', ')}.`,
        'Put the files of this version back; changes to the schema go into new migrations.',
      );
    }
    if (state.pending.length > 0) {
      return problem(
        `Not applied: ${state.pending.join(', ')}.`,
        'Run svc-admin migrate, or start the server.',
      );
    }
    if (state.unknown.length > 0) {
      return warning(
        `The database is newer than this version: it has ${state.unknown.join(', ')}.`,
        'Use the newest version that has worked on this database.',
      );
    }
    return ok(`All ${applied.length} are applied.`);
  },
};
