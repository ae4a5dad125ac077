import type { AccessPreview } from '@svc/contract/access-preview.shapes.ts';
import type { z } from 'zod';
import { ruleText } from '../rows/decide.ts';
import { constantText, countArg, type Mask, truncateUnitOf } from '../rows/masks.ts';
import type { ViewCase, ViewColumn } from '../rows/row-table.ts';
import type { TableAccess } from '../rows/table-access.ts';
import type { CatalogueColumn, TableCatalogue } from '../tables/catalogue.ts';
import { always, anyOf, isAlways, isNever } from '../tables/conditions.ts';
import { canBeTrue, isCovered } from './coverage.ts';
import { type Disclosure, isSame, type SourceRecord, uniqueSources, wordOptions } from './describe.ts';
import { conditionWords, listWords, policyWords } from './words.ts';

export type ColumnRecord = z.output<typeof AccessPreview>['columns'][number];

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
  /** Whether one of them applies to every visible row; the value is empty in others. */
  isComplete: boolean;
}

/** Those that can apply to a visible row; neighbours with the same mask are one. */
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
  return mask ? `masked (${mask.kind}${argumentWords(mask)})` : 'clear';
}

function argumentWords(mask: Mask): string {
  const { kind, args } = mask;
  switch (kind) {
    case 'null':
      return ': always empty';
    case 'constant':
      return `: always ${JSON.stringify(constantText(mask))}`;
    case 'redact':
      return ': letters as x, digits as 0';
    case 'hash':
      return ': equal values stay equal';
    case 'partial':
      return `: only the first ${countArg(args.first)} and the last ${countArg(args.last)} characters`;
    case 'email':
      return ': such as a•••@example.com';
    case 'round':
      return ` to ${countArg(args.to)}`;
    case 'truncate':
      return ` to ${truncateUnitOf(args)}`;
  }
}

function byWords(because: readonly SourceRecord[]): string {
  const policies = because.filter(({ kind }) => kind === 'policy').map(({ name }) => name);
  const others = because.filter(({ kind }) => kind !== 'policy').map(({ name }) => name);
  const all = [...others, ...(policies.length > 0 ? [policyWords(policies)] : [])];
  return all.length === 0 ? '' : ` by ${listWords(all)}`;
}

/** The policies and the rule of the column that hide or mask it. */
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
