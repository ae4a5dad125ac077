import type { AccessPreview, AccessSource } from '@svc/contract/access-preview.shapes.ts';
import type { z } from 'zod';
import { changeable, isWritable, type RowAction, rowActions, type Source } from '../rows/access.ts';
import { ruleText } from '../rows/decide.ts';
import { constantText, countArg, type Mask, truncateUnitOf } from '../rows/masks.ts';
import type { TableView, ViewCase, ViewColumn } from '../rows/row-table.ts';
import type { TableAccess } from '../rows/table-access.ts';
import type { CatalogueColumn, TableCatalogue } from '../tables/catalogue.ts';
import { always, anyOf, isAlways, isNever, type PlannedCondition } from '../tables/conditions.ts';
import { conditionWords, listWords, policyWords } from './words.ts';

export function canBeTrue(condition: PlannedCondition): boolean {
  if (condition.kind === 'test')
    return condition.negated || condition.op !== 'in' || condition.values.length > 0;
  const { kind, negated, parts } = condition;
  if (negated) return !(kind === 'and' ? parts.every(isAlways) : parts.some(isAlways));
  return kind === 'and' ? parts.every(canBeTrue) : parts.some(canBeTrue);
}

/** Compares the form only: false where the answer would take knowledge about values. */
export function isCovered(condition: PlannedCondition, by: readonly PlannedCondition[]): boolean {
  const others = by.flatMap(alternativesOf).map(requirements);
  return alternativesOf(condition)
    .filter(canBeTrue)
    .every((each) => {
      const own = requirements(each);
      return others.some((other) => other.isSubsetOf(own));
    });
}

export const isEquivalent = (one: PlannedCondition, other: PlannedCondition) =>
  isCovered(one, [other]) && isCovered(other, [one]);

function alternativesOf(condition: PlannedCondition): PlannedCondition[] {
  return condition.kind === 'or' && !condition.negated
    ? condition.parts.flatMap(alternativesOf)
    : [condition];
}

function requirements(condition: PlannedCondition): Set<string> {
  const all = (each: PlannedCondition): string[] =>
    each.kind === 'and' && !each.negated ? each.parts.flatMap(all) : [formOf(each)];
  return new Set(all(condition));
}

const formOf = (condition: PlannedCondition) =>
  JSON.stringify(condition, (key, value) => (key === 'column' || key === 'other' ? value.physical : value));

type SourceRecord = z.output<typeof AccessSource>;

interface Disclosure {
  isFull: boolean;
  table: string;
  names: ReadonlyMap<string, string>;
  presets: ReadonlyMap<string, string>;
}

export function describeActions(value: TableAccess | null): RowAction[] {
  return rowActions.filter(
    (action) =>
      value?.access.actions.has(action) &&
      (action === 'read' || (canBeTrue(rowsOf(value, action)) && hasColumns(value, action))),
  );
}

function rowsOf({ access, table, exportTable }: TableAccess, action: RowAction): PlannedCondition {
  if (action === 'read') return table.view.rows;
  return action === 'export' ? exportTable.view.rows : changeable(access, action);
}

const hasColumns = ({ access, table }: TableAccess, action: RowAction) =>
  action !== 'update' || table.catalogue.columns.some(({ name }) => isWritable(access, action, name));

export function describeChanges(value: TableAccess | null, disclosure: Disclosure): string[] {
  if (!value) return [];
  const byRows = new Map<string, string[]>();
  for (const action of describeActions(value)) {
    if (action === 'read') continue;
    const words = rowWords(value, action, disclosure);
    byRows.set(words, [...(byRows.get(words) ?? []), action]);
  }
  return [...byRows].map(([rows, actions]) => `${listWords(actions)} ${rows}`);
}

function rowWords(value: TableAccess, action: RowAction, disclosure: Disclosure): string {
  const rows = rowsOf(value, action);
  if (isAlways(rows)) return action === 'insert' ? 'any row' : 'all rows';
  const isOfVisible = action !== 'insert' && value.access.actions.has('read');
  if (isOfVisible && isEquivalent(rows, value.table.view.rows)) return 'these rows';
  return `rows where ${conditionWords(rows, wordOptions(value, disclosure))}`;
}

function wordOptions({ table: { view } }: TableAccess, { isFull, names }: Disclosure) {
  return { names, isShown: (column: CatalogueColumn) => isFull || isClear(view, column) };
}

export function describeSources(value: TableAccess | null, disclosure: Disclosure): SourceRecord[] {
  const sources = value?.access.alternatives.flatMap(({ because }) => because) ?? [];
  return uniqueSources(
    sources.map((source) => ({ kind: source.kind, id: source.id, name: sourceName(source, disclosure) })),
  );
}

const uniqueSources = (records: readonly SourceRecord[]): SourceRecord[] => [
  ...new Map(records.map((record) => [`${record.kind} ${record.id}`, record])).values(),
];

/** The text of a rule names columns that its reader may not see. */
function sourceName({ kind, id, text }: Source, { isFull, table, presets }: Disclosure): string {
  if (kind === 'rule') return isFull ? `the rules of ${table} (${text})` : `the rules of ${table}`;
  const preset = presets.get(id);
  return kind === 'grant' && preset !== undefined ? `${text} with the preset ${preset}` : text;
}

export const isSame = (one: CatalogueColumn, other: CatalogueColumn) => one.physical === other.physical;

export function isClear({ columns }: TableView, column: CatalogueColumn): boolean {
  return (
    columns === null || columns.some(({ source, cases }) => isSame(source, column) && cases.length === 0)
  );
}

export function describeFilter(value: TableAccess | null, disclosure: Disclosure): string {
  if (!value?.access.actions.has('read')) return 'no rows';
  return conditionWords(value.table.view.rows, wordOptions(value, disclosure));
}

type ColumnRecord = z.output<typeof AccessPreview>['columns'][number];

export function describeColumns(
  catalogue: TableCatalogue,
  value: TableAccess | null,
  disclosure: Disclosure,
): ColumnRecord[] {
  const reader = value?.access.actions.has('read') ? value : null;
  const columns = catalogue.columns.filter(({ name }) => name !== '');
  const records = columns.map((source): ColumnRecord => {
    const base = { name: source.name, type: source.type };
    const isNamed = (each: ViewColumn) => isSame(each.source, source) && each.column.name !== '';
    const seen = reader?.table.view.columns?.find(isNamed);
    if (!reader || (reader.table.view.columns !== null && !seen)) {
      const because = reader ? columnSources(reader, source, disclosure, 'hidden') : [];
      return { ...base, access: 'hidden', mask: null, text: `hidden${byWords(because)}`, because };
    }
    const { cases, isComplete } = possibleCases(reader, seen);
    if (isComplete && cases.every(({ mask }) => mask === null))
      return { ...base, access: 'clear', mask: null, text: 'clear', because: [] };
    const because = columnSources(reader, source, disclosure, 'masked');
    const masks = cases.flatMap(({ mask }) => (mask ? [mask.kind] : []));
    const text = caseWords({ cases, isComplete }, reader, disclosure);
    // A column that is clear in some rows is empty in the others, as by the mask null.
    const mask = masks[0] ?? 'null';
    return { ...base, access: 'masked', mask, text: `${text}${byWords(because)}`, because };
  });
  return disclosure.isFull ? records : records.filter(({ access }) => access !== 'hidden');
}

interface Cases {
  cases: ViewCase[];
  isComplete: boolean;
}

function possibleCases({ table }: TableAccess, seen: ViewColumn | undefined): Cases {
  const { rows } = table.view;
  if (!seen || seen.cases.length === 0) return { cases: [], isComplete: true };
  const cases: ViewCase[] = [];
  for (const { when, mask } of seen.cases) {
    if (!canBeTrue(when)) continue;
    const last = cases.at(-1);
    if (last && maskWords(last.mask) === maskWords(mask))
      cases[cases.length - 1] = { when: anyOf([last.when, when]), mask };
    else cases.push({ when, mask });
    if (isCovered(rows, conditionsOf(cases))) return { cases: withoutCondition(cases), isComplete: true };
  }
  return { cases, isComplete: false };

  function withoutCondition(all: ViewCase[]): ViewCase[] {
    const [only] = all;
    return all.length === 1 && only ? [{ ...only, when: always }] : all;
  }
}

const conditionsOf = (cases: readonly ViewCase[]) => cases.map(({ when }) => when);

function caseWords({ cases, isComplete }: Cases, reader: TableAccess, disclosure: Disclosure): string {
  const texts = cases.map(({ when, mask }) =>
    isAlways(when)
      ? maskWords(mask)
      : `${maskWords(mask)} where ${conditionWords(when, wordOptions(reader, disclosure))}`,
  );
  return [...texts, ...(isComplete ? [] : ['otherwise empty'])].join(', ');
}

function maskWords(mask: Mask | null): string {
  if (!mask) return 'clear';
  switch (mask.kind) {
    case 'null':
      return 'masked (null: always empty)';
    case 'constant':
      return `masked (constant: always ${JSON.stringify(constantText(mask))})`;
    case 'redact':
      return 'masked (redact: letters as x, digits as 0)';
    case 'hash':
      return 'masked (hash: equal values stay equal)';
    case 'partial':
      return `masked (partial: only the first ${countArg(mask.args.first)} and the last ${countArg(mask.args.last)} characters)`;
    case 'email':
      return 'shown shortened (such as a•••@example.com)';
    case 'round':
      return `rounded to ${countArg(mask.args.to)}`;
    case 'truncate':
      return `truncated to the ${truncateUnitOf(mask.args)}`;
  }
}

function byWords(because: readonly SourceRecord[]): string {
  const policies = because.filter(({ kind }) => kind === 'policy').map(({ name }) => name);
  const others = because.filter(({ kind }) => kind !== 'policy').map(({ name }) => name);
  const all = [...others, ...(policies.length > 0 ? [policyWords(policies)] : [])];
  return all.length === 0 ? '' : ` by ${listWords(all)}`;
}

function columnSources(
  { access, table: { catalogue } }: TableAccess,
  { name }: CatalogueColumn,
  { isFull, table }: Disclosure,
  what: 'hidden' | 'masked',
): SourceRecord[] {
  const limit = catalogue.rules.columns[name]?.read;
  const sources = access.alternatives.flatMap(({ reads: { read }, because }): SourceRecord[] => {
    if (!read || isNever(read.where)) return [];
    const policies = (read.policies ?? []).filter((policy) =>
      what === 'hidden' ? !policy.isVisible(name) : policy.masks.has(name),
    );
    const part = read.columns?.get(name);
    const isLimited =
      what === 'hidden' ? policies.length === 0 && !!read.columns && !part : !!part && !isAlways(part.when);
    const rules = isLimited && limit ? because.filter(({ kind }) => kind === 'rule') : [];
    return [
      ...rules.map(({ kind, id }) => ({
        kind,
        id,
        name: isFull ? `the column rule “${name}: read ${ruleText(limit ?? [])}”` : `the rules of ${table}`,
      })),
      ...policies.map(({ source: { kind, id, text } }) => ({ kind, id, name: text })),
    ];
  });
  return uniqueSources(sources);
}
