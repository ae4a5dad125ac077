import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const migrationsDirectory = join(import.meta.dir, '..', '..', 'migrations');

export interface MigrationFile {
  name: string;
  sql: string;
  checksum: string;
}

export interface AppliedMigration {
  name: string;
  checksum: string;
}

/** By the rules of `plumbing/migrate.ts`: by name, the checksum over the text with plain line ends. */
export function readMigrationFiles(directory: string): MigrationFile[] {
  return readdirSync(directory)
    .filter((name) => name.endsWith('.sql'))
    .sort()
    .map((name) => {
      const sql = readFileSync(join(directory, name), 'utf8').replaceAll('\r\n', '\n');
      return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') };
    });
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
  files: readonly MigrationFile[],
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
