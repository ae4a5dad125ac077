import {
  envNamePattern,
  envNamesReserved,
  envValueBytesMax,
  envVariablesMax,
} from '@svc/contract/deployments.ts';

export interface EnvDraft {
  rows: readonly EnvRow[];
  removed: readonly string[];
}

interface EnvRow {
  key: number;
  name: string;
  value: string;
}

export const emptyDraft: EnvDraft = { rows: [], removed: [] };
let lastKey = 0;

export function addRow(draft: EnvDraft, row: { name: string; value: string }): EnvDraft {
  lastKey += 1;
  return {
    rows: [...draft.rows, { key: lastKey, ...row }],
    removed: draft.removed.filter((name) => name !== row.name),
  };
}

export function setVariables(draft: EnvDraft, set: Readonly<Record<string, string>>): EnvDraft {
  let next = draft;
  for (const [name, value] of Object.entries(set)) {
    const there = next.rows.find((row) => row.name === name);
    next = there ? updateRow(next, there.key, { value }) : addRow(next, { name, value });
  }
  return next;
}

export function updateRow(draft: EnvDraft, key: number, set: Partial<Omit<EnvRow, 'key'>>): EnvDraft {
  return { ...draft, rows: draft.rows.map((row) => (row.key === key ? { ...row, ...set } : row)) };
}

export function removeRow(draft: EnvDraft, key: number): EnvDraft {
  return { ...draft, rows: draft.rows.filter((row) => row.key !== key) };
}

export function toggleRemoval(draft: EnvDraft, name: string): EnvDraft {
  const isRemoved = draft.removed.includes(name);
  return {
    rows: draft.rows.filter((row) => row.name !== name),
    removed: isRemoved ? draft.removed.filter((one) => one !== name) : [...draft.removed, name],
  };
}

export function rowProblem({ rows }: EnvDraft, { key, name, value }: EnvRow): string | null {
  if (name === '') return 'Enter a name.';
  if (!envNamePattern.test(name)) return 'Use letters, digits and _, not starting with a digit.';
  if (envNamesReserved.test(name)) return 'Reserved by the platform.';
  if (rows.some((row) => row.key !== key && row.name === name)) return 'Already listed.';
  if (new TextEncoder().encode(value).length > envValueBytesMax)
    return `A value has at most ${envValueBytesMax / 1024} KiB.`;
  return null;
}

export function whyNotSave(draft: EnvDraft): string | null {
  if (draft.rows.length === 0 && draft.removed.length === 0) return 'Nothing has changed yet.';
  if (draft.rows.length > envVariablesMax) return `An app has at most ${envVariablesMax} variables.`;
  if (draft.rows.some((row) => rowProblem(draft, row) !== null)) return 'Correct the marked fields first.';
  return null;
}

export function envChanges({ rows, removed }: EnvDraft): { set: Record<string, string>; unset: string[] } {
  return { set: Object.fromEntries(rows.map(({ name, value }) => [name, value])), unset: [...removed] };
}

/** Invalid lines are reported by number only, since they may contain secrets. */
interface ParsedEnv {
  set: Record<string, string>;
  invalidLines: number[];
}

const assignment = /^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_.-]*)\s*=[^\S\n]*/;

export function parseEnv(text: string): ParsedEnv {
  const parsed: ParsedEnv = { set: {}, invalidLines: [] };
  const lines = text.replace(/\r\n?/g, '\n').split('\n');
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? '';
    if (/^\s*(?:#|$)/.test(line)) continue;
    const [head = '', name] = assignment.exec(line) ?? [];
    if (name === undefined) {
      parsed.invalidLines.push(at + 1);
      continue;
    }
    const rest = line.slice(head.length);
    const quote = /^["'`]/.exec(rest)?.[0];
    if (quote === undefined) {
      parsed.set[name] = rest.replace(/#.*$/, '').trim();
      continue;
    }
    const { value, lastLine } = readQuoted(lines, { at, column: head.length + 1, quote });
    if (value === null) parsed.invalidLines.push(at + 1);
    else parsed.set[name] = quote === '"' ? value.replaceAll('\\n', '\n') : value;
    at = lastLine;
  }
  return parsed;
}

function readQuoted(
  lines: readonly string[],
  { at, column, quote }: { at: number; column: number; quote: string },
): { value: string | null; lastLine: number } {
  const parts: string[] = [];
  for (let line = at; line < lines.length; line++) {
    const text = (lines[line] ?? '').slice(line === at ? column : 0);
    const end = text.indexOf(quote);
    if (end >= 0) return { value: [...parts, text.slice(0, end)].join('\n'), lastLine: line };
    parts.push(text);
  }
  return { value: null, lastLine: at };
}
