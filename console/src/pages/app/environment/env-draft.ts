import {
  envNamePattern,
  envNamesReserved,
  envValueBytesMax,
  envVariablesMax,
} from '@svc/contract/deployments.ts';

/** Variables to be set, as they are typed, and those to be removed. */
export interface EnvDraft {
  rows: readonly EnvRow[];
  removed: readonly string[];
}

export interface EnvRow {
  /** Tells rows apart while their names are typed. */
  key: number;
  name: string;
  value: string;
}

export const noDraft: EnvDraft = { rows: [], removed: [] };
let lastKey = 0;

export function withRow(draft: EnvDraft, row: { name: string; value: string }): EnvDraft {
  lastKey += 1;
  return {
    rows: [...draft.rows, { key: lastKey, ...row }],
    removed: draft.removed.filter((name) => name !== row.name),
  };
}

/** A name that is typed already gets the new value. */
export function withSet(draft: EnvDraft, set: Readonly<Record<string, string>>): EnvDraft {
  let next = draft;
  for (const [name, value] of Object.entries(set)) {
    const there = next.rows.find((row) => row.name === name);
    next = there ? changedRow(next, there.key, { value }) : withRow(next, { name, value });
  }
  return next;
}

export function changedRow(draft: EnvDraft, key: number, set: Partial<Omit<EnvRow, 'key'>>): EnvDraft {
  return { ...draft, rows: draft.rows.map((row) => (row.key === key ? { ...row, ...set } : row)) };
}

export function withoutRow(draft: EnvDraft, key: number): EnvDraft {
  return { ...draft, rows: draft.rows.filter((row) => row.key !== key) };
}

export function toggledRemoval(draft: EnvDraft, name: string): EnvDraft {
  const isRemoved = draft.removed.includes(name);
  return {
    rows: draft.rows.filter((row) => row.name !== name),
    removed: isRemoved ? draft.removed.filter((one) => one !== name) : [...draft.removed, name],
  };
}

/** What is wrong with a row as it stands; the server has the last word. */
export function rowProblem({ rows }: EnvDraft, { key, name, value }: EnvRow): string | null {
  if (name === '') return 'A variable needs a name.';
  if (!envNamePattern.test(name)) return 'Letters, digits and _, and no digit at the beginning.';
  if (envNamesReserved.test(name)) return 'The platform gives this one; it can not be set.';
  if (rows.some((row) => row.key !== key && row.name === name)) return 'It stands here twice.';
  if (new TextEncoder().encode(value).length > envValueBytesMax)
    return `A value has ${envValueBytesMax / 1024} KiB at most.`;
  return null;
}

/** Why the draft can not be sent; null: it can. */
export function draftObstacle(draft: EnvDraft): string | null {
  if (draft.rows.length === 0 && draft.removed.length === 0) return 'Nothing is changed yet.';
  if (draft.rows.length > envVariablesMax) return `An app has ${envVariablesMax} variables at most.`;
  if (draft.rows.some((row) => rowProblem(draft, row) !== null)) return 'Correct what is marked first.';
  return null;
}

export function wishOf({ rows, removed }: EnvDraft): { set: Record<string, string>; unset: string[] } {
  return { set: Object.fromEntries(rows.map(({ name, value }) => [name, value])), unset: [...removed] };
}
