import { alternativeText, parseAlternativeText } from '@svc/contract/access-matrix.ts';
import { FilterError } from '@svc/contract/filter.ts';
import { parseAlternative, ruleActions, type TableRules } from '@svc/contract/table-rules.ts';

/** Each rule is a list of texts, one for each alternative. */
export type RulesDraft = Record<(typeof ruleActions)[number], string[]> & { columns: ColumnDraft };
export type ColumnDraft = Record<string, { read?: string[]; write?: string[] }>;

const texts = (list: readonly Parameters<typeof alternativeText>[0][]) => list.map(alternativeText);

export function draftOf(rules: TableRules): RulesDraft {
  const columns = Object.entries(rules.columns).map(([name, { read, write }]) => [
    name,
    { ...(read && { read: texts(read) }), ...(write && { write: texts(write) }) },
  ]);
  return {
    read: texts(rules.read),
    insert: texts(rules.insert),
    update: texts(rules.update),
    delete: texts(rules.delete),
    columns: Object.fromEntries(columns),
  };
}

export function rulesOf(draft: RulesDraft): TableRules {
  const parse = (list: readonly string[]) => list.map(parseAlternativeText);
  const columns = Object.entries(draft.columns).map(([name, { read, write }]) => [
    name,
    { ...(read && { read: parse(read) }), ...(write && { write: parse(write) }) },
  ]);
  return {
    read: parse(draft.read),
    insert: parse(draft.insert),
    update: parse(draft.update),
    delete: parse(draft.delete),
    columns: Object.fromEntries(columns),
  };
}

function listError(list: readonly string[]): string | null {
  try {
    for (const text of list) parseAlternative(parseAlternativeText(text));
    return null;
  } catch (error) {
    if (error instanceof FilterError) return `${error.field}: ${error.detail}`;
    throw error;
  }
}

export function draftErrors(draft: RulesDraft): Record<string, string | null> {
  const columns = Object.entries(draft.columns).flatMap(([name, rules]) =>
    (['read', 'write'] as const).map(
      (kind) => [`columns.${name}.${kind}`, listError(rules[kind] ?? [])] as const,
    ),
  );
  return Object.fromEntries([
    ...ruleActions.map((action) => [action, listError(draft[action])] as const),
    ...columns,
  ]);
}

export function validRules(draft: RulesDraft): TableRules | null {
  return Object.values(draftErrors(draft)).some(Boolean) ? null : rulesOf(draft);
}
