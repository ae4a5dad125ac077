import type { KnownColumns } from './column-types.ts';
import type { ImportSource } from './import-source.ts';
import type { Conflict } from './send-batch.ts';

/** An import as it was asked for. */
export interface ImportJob {
  source: ImportSource;
  types: KnownColumns | null;
  conflict: Conflict | null;
  batchSize: number;
  /** Null stops at the first batch with a bad line. */
  skip: { linesMax: number; to: string | null } | null;
  start: 'first' | 'resume' | 'restart';
}

/** Columns that the service keeps itself, as an export has them. */
export const keptColumns: readonly string[] = ['created_at', 'updated_at'];

export function endedNote(at: string): string {
  return `This import ended at ${at}.`;
}

export function ignoredNote(columns: readonly string[]): string {
  return `${columns.join(' and ')} of the file ${columns.length === 1 ? 'is' : 'are'} left out: the service keeps them itself.`;
}
