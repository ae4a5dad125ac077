/** Who may do what with the rows of an app's table, for the people who use the app and for the app itself. */
import { type Condition, FilterError, parseRowFilter } from './filter.ts';

export const rowChanges = ['insert', 'update', 'delete'] as const;
export const ruleActions = ['read', ...rowChanges] as const;
export type RuleAction = (typeof ruleActions)[number];

export const accessPresets = ['own', 'read-only', 'read-write', 'insert-only', 'closed'] as const;
export type AccessPreset = (typeof accessPresets)[number];

export const roleNamePattern = /^[a-z][a-z0-9_-]{0,62}$/;
export const alternativesMax = 20;
export const ruleFilterCharsMax = 4000;

/** `any`, `own`, `app`, `none`, `role:<name>`, a filter, or both: `{ who: 'role:manager', where: 'region=eq.@me.region' }`. */
export type Alternative = string | { who: string; where: string };

export interface TableRules {
  read: Alternative[];
  insert: Alternative[];
  update: Alternative[];
  delete: Alternative[];
  columns: Record<string, { read?: Alternative[] | undefined; write?: Alternative[] | undefined }>;
}

export type Who = { kind: 'any' | 'own' | 'app' | 'none' } | { kind: 'role'; role: string };

export interface ParsedAlternative {
  who: Who;
  where: Condition[];
}

const plainWho = ['any', 'own', 'app', 'none'] as const;

/** Throws a `FilterError`. */
export function parseAlternative(alternative: Alternative): ParsedAlternative {
  if (typeof alternative === 'object')
    return { who: parseWho(alternative.who), where: parseRowFilter(alternative.where) };
  if (alternative.includes('=')) return { who: { kind: 'any' }, where: parseRowFilter(alternative) };
  return { who: parseWho(alternative), where: [] };
}

function parseWho(text: string): Who {
  const kind = plainWho.find((word) => word === text);
  if (kind) return { kind };
  const role = /^role:(.*)$/s.exec(text)?.[1];
  if (role !== undefined && roleNamePattern.test(role)) return { kind: 'role', role };
  throw new FilterError(
    text.slice(0, 80),
    'must be any, own, app, none, role:<name> or a filter such as region=eq.@me.region',
  );
}

const same = (alternatives: Alternative[]): TableRules => ({
  read: alternatives,
  insert: alternatives,
  update: alternatives,
  delete: alternatives,
  columns: {},
});

/** In each of them the app's own identity may do everything. */
export const presetRules: Readonly<Record<AccessPreset, TableRules>> = {
  own: same(['own', 'app']),
  'read-only': { ...same(['app']), read: ['any'] },
  'read-write': same(['any']),
  'insert-only': { ...same(['app']), insert: ['any'] },
  closed: same(['app']),
};

export function presetOf(rules: TableRules): AccessPreset | null {
  const text = JSON.stringify(inOrder(rules));
  return accessPresets.find((preset) => JSON.stringify(inOrder(presetRules[preset])) === text) ?? null;
}

const inOrder = ({ read, insert, update, delete: remove, columns }: TableRules) => [
  read,
  insert,
  update,
  remove,
  columns,
];

export const openToChanges = 'every user of the app can change every row';

/** Whether some change is open to whoever may use the app, for every row. */
export function isOpenToChanges(rules: TableRules): boolean {
  return [rules.update, rules.delete].some((alternatives) => alternatives.includes('any'));
}

type SomeRules = Partial<Record<RuleAction | 'write', readonly Alternative[] | undefined>> & {
  columns?: TableRules['columns'] | undefined;
};

/** The roles that the rules name. */
export function rolesOfRules({ columns = {}, ...lists }: SomeRules): string[] {
  const inColumns = Object.values(columns).flatMap(({ read = [], write = [] }) => [...read, ...write]);
  const all = [...[...ruleActions, 'write' as const].flatMap((action) => lists[action] ?? []), ...inColumns];
  const roles = all.flatMap((alternative) => {
    const { who } = parseAlternative(alternative);
    return who.kind === 'role' ? [who.role] : [];
  });
  return [...new Set(roles)].sort();
}

export function defaultPreset(ownerColumn: string | null): AccessPreset {
  return ownerColumn === null ? 'read-only' : 'own';
}

/** `own,role:manager`, as typed on a command line; commas inside brackets belong to a filter. */
export function splitAlternatives(text: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let start = 0;
  for (let at = 0; at <= text.length; at++) {
    const char = text[at];
    if (char === '(') depth++;
    else if (char === ')') depth--;
    if (at < text.length && !(char === ',' && depth === 0)) continue;
    parts.push(text.slice(start, at).trim());
    start = at + 1;
  }
  return parts.filter((part) => part !== '');
}
