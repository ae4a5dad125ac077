import type { Column } from './command.ts';
import { plain } from './terminal.ts';

export interface ReadyColumn {
  name: string;
  /** Ids and secrets are useless when cut. */
  keep: boolean;
  value: (record: unknown) => string;
}

export function columnOf(column: Column): ReadyColumn {
  if (typeof column !== 'string') {
    return { name: column.title, keep: false, value: (record) => cell(column.value(asRecord(record))) };
  }
  const path = column.split('.');
  return {
    name: column,
    keep: column === 'id' || column.endsWith('_id') || column === 'secret',
    value: (record) => cell(path.reduce<unknown>((at, key) => asRecord(at)[key], record)),
  };
}

/** A value as one line of text. */
export function cell(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value) && value.every(isScalar)) return value.map(cell).join(', ');
  return plain(isScalar(value) ? String(value) : JSON.stringify(value));
}

function isScalar(value: unknown): boolean {
  return typeof value !== 'object';
}

export function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
