import { resourcePathPattern, scopeEntriesMax } from '@svc/contract/grants.ts';

interface ParsedScope {
  entries: string[];
  duplicates: number;
  fault: string | null;
}

export function parseScope(text: string): ParsedScope {
  const written = text
    .split(/[\n,]/)
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
  const entries = [...new Set(written)];
  return { entries, duplicates: written.length - entries.length, fault: scopeError(entries) };
}

function scopeError(entries: readonly string[]): string | null {
  const bad = entries.filter((entry) => !resourcePathPattern.test(entry));
  if (bad.length > 0) return `must be schema or schema/table: ${bad.slice(0, 3).join(', ')}`;
  if (entries.length > scopeEntriesMax)
    return `has ${entries.length} entries, at most ${scopeEntriesMax} are allowed`;
  return null;
}

export function scopeCount({ entries, duplicates }: ParsedScope): string {
  const removed = duplicates === 0 ? '' : `; ${duplicates} duplicate${duplicates === 1 ? '' : 's'} ignored`;
  if (entries.length === 0) return 'Empty: the whole connector.';
  return `${entries.length} of ${scopeEntriesMax} entries${removed}.`;
}
