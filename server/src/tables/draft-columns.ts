import type { ColumnSpec } from '@svc/contract/column-spec.ts';
import type { ProblemItem } from '@svc/contract/problem.ts';
import { fail } from '../plumbing/problem.ts';
import { checkDefault } from './column-default.ts';
import { idRefusal, type NewColumn, namedTwice } from './rules.ts';

/** Columns as they were declared, with their defaults as they are kept. Names every place that is wrong. */
export function draftColumns(specs: readonly ColumnSpec[]): NewColumn[] {
  const twice = namedTwice(specs.map((spec) => spec.name)).map((at) => ({
    field: `columns.${at}.name`,
    code: 'duplicate',
    detail: `${specs[at]?.name} is declared twice`,
  }));
  const drafts = specs.map((spec, at) => draftColumn(spec, `columns.${at}.`));
  const wrong = [...twice, ...drafts.flatMap((draft) => (isWrong(draft) ? [draft] : []))];
  if (wrong.length > 0) throw refusal(wrong);
  return drafts.flatMap((draft) => (isWrong(draft) ? [] : [draft]));
}

/** One that is added to a table, which has its id already. */
export function draftAddedColumn(spec: ColumnSpec): NewColumn {
  const draft = draftColumn(spec, '');
  if (isWrong(draft)) throw refusal([draft]);
  return draft;
}

function draftColumn(spec: ColumnSpec, prefix: string): NewColumn | ProblemItem {
  const { name, type, nullable } = spec;
  const isId = name === 'id';
  const wrong = isId ? idRefusal(spec) : null;
  if (wrong) return { field: `${prefix}${wrong.field}`, code: 'invalid', detail: wrong.detail };
  const column: NewColumn = { name, type, nullable, default_text: null, role: isId ? 'id' : 'plain' };
  if (spec.default === null) return column;
  const checked = checkDefault(type, spec.default);
  if (!checked.ok) return { field: `${prefix}default`, code: 'invalid', detail: checked.detail };
  return { ...column, default_text: checked.value };
}

const isWrong = (draft: NewColumn | ProblemItem): draft is ProblemItem => 'code' in draft;

function refusal(items: readonly ProblemItem[]) {
  const [first] = items;
  return fail('validation_failed', {
    detail: `${first?.field}: ${first?.detail}`,
    errors: items.slice(0, itemsMax),
  });
}

const itemsMax = 100;
