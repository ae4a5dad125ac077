import { resourcePathPattern, scopeEntriesMax } from '@svc/contract/grants.ts';

export interface ReadScope {
  /** Without duplicates, in the order written. */
  entries: string[];
  duplicates: number;
  /** Why it would be refused; null when it would not. */
  fault: string | null;
}

/** A scope as people write it: an entry a line, or several with commas between. Empty is the whole connector. */
export function readScope(text: string): ReadScope {
  const written = text
    .split(/[\n,]/)
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
  const entries = [...new Set(written)];
  return { entries, duplicates: written.length - entries.length, fault: faultOf(entries) };
}

function faultOf(entries: readonly string[]): string | null {
  const bad = entries.filter((entry) => !resourcePathPattern.test(entry));
  if (bad.length > 0) return `must be schema or schema/table: ${bad.slice(0, 3).join(', ')}`;
  if (entries.length > scopeEntriesMax) return `at most ${scopeEntriesMax} entries, not ${entries.length}`;
  return null;
}

export function scopeCount({ entries, duplicates }: ReadScope): string {
  const removed = duplicates === 0 ? '' : `; ${duplicates} written twice, counted once`;
  if (entries.length === 0) return 'Empty: the whole connector.';
  return `${entries.length} of ${scopeEntriesMax} entries${removed}.`;
}
