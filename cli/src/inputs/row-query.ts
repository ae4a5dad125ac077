import { appFlag } from '../app-flag.ts';
import type { Flags, Positional } from '../command.ts';
import type { QueryPair } from '../rows-client.ts';

export const tablePositional = { name: 'table', summary: 'Table of the app' } as const satisfies Positional;
export const idPositional = { name: 'id', summary: 'Id of the row' } as const satisfies Positional;

/** How every rows command signs in, for its help. */
export const rowsCredential =
  'Acts as your login (svc login, or SVC_TOKEN), or as the personal access token in SVC_API_KEY, which goes before ' +
  'a stored login. SVC_TOKEN and SVC_API_KEY together are refused.';

export const filterFlags = {
  ...appFlag,
  filter: {
    type: 'string',
    repeated: true,
    placeholder: 'column=op.value',
    summary: 'Only rows that fit, as the row API spells it: age=gt.3, name=eq.Rex, or=(a.eq.1,b.is.null)',
  },
} as const satisfies Flags;

export const rowQueryFlags = {
  ...filterFlags,
  select: { type: 'list', placeholder: 'column', summary: 'Only these columns; alias:column renames' },
  sort: { type: 'list', placeholder: 'column', summary: 'Order; -column is descending' },
} as const satisfies Flags;

interface QueryFlags {
  filter?: string[] | undefined;
  select?: string[] | undefined;
  sort?: string[] | undefined;
}

/** What a listing, a count and an export send alike. */
export function rowQuery({ filter = [], select = [], sort = [] }: QueryFlags): QueryPair[] {
  return [
    ...filter.map(filterPair),
    ...(select.length === 0 ? [] : [['select', select.join(',')] as const]),
    ...(sort.length === 0 ? [] : [['sort', sort.join(',')] as const]),
  ];
}

/** Refuses what is no filter before anything is sent. */
export function checkFilters({ filter = [] }: QueryFlags): string | undefined {
  const wrong = filter.find((text) => text.indexOf('=') < 1);
  return wrong === undefined
    ? undefined
    : `--filter is written column=value or column=op.value, not ${JSON.stringify(wrong)}.`;
}

/** No column can bear the name of a group, so that `or=(…)` can only be one. */
function filterPair(text: string): QueryPair {
  const [, group, value] = /^((?:not\.)?(?:or|and|not))=(.*)$/s.exec(text) ?? [];
  return group === undefined || value === undefined ? ['filter', text] : [group, value];
}
