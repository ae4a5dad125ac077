import type { ColumnType } from '@svc/contract/columns.ts';

/** How cells of a type look, head and value alike: numbers end together, ids take little room. */
export const cellLooks: Partial<Record<ColumnType, string>> = {
  int: 'grid-number',
  bigint: 'grid-number',
  float: 'grid-number',
  uuid: 'grid-uuid',
};
