import type { Migration } from '../plumbing/migrate.ts';

export interface AppliedMigration {
  name: string;
  checksum: string;
}

export interface MigrationState {
  /** In the files, not in the database. */
  pending: string[];
  /** In both, but not the same. */
  changed: string[];
  /** In the database, made by a newer version. */
  unknown: string[];
}

export function compareMigrations(
  files: readonly Migration[],
  applied: readonly AppliedMigration[],
): MigrationState {
  const known = new Map(files.map((file) => [file.name, file.checksum]));
  const done = new Map(applied.map((migration) => [migration.name, migration.checksum]));
  return {
    pending: files.filter((file) => !done.has(file.name)).map((file) => file.name),
    changed: applied
      .filter(({ name, checksum }) => known.has(name) && known.get(name) !== checksum)
      .map((m) => m.name),
    unknown: applied.filter(({ name }) => !known.has(name)).map((migration) => migration.name),
  };
}
