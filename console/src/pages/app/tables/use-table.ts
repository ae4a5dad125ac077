import type { Answer, Endpoint } from '@svc/contract/endpoint.ts';
import { tablePath } from '@svc/contract/row-path.ts';
import type { getTable } from '@svc/contract/tables.ts';
import { createContext, useContext } from 'react';
import { whyNotActive } from '../rules.ts';
import { useApp } from '../use-app.tsx';

type TableView = Answer<NonNullable<typeof getTable.shape>>;
export type ColumnView = TableView['columns'][number];
/** With the mask that applies to the reader. */
export type SeenColumn = ColumnView & { mask?: string | null };

const TableContext = createContext<TableView | null>(null);
export const TableProvider = TableContext.Provider;

export function useTable() {
  const table = useContext(TableContext);
  const context = useApp();
  if (!table) throw new Error('useTable needs a table page.');
  const { app, tenant, params, why } = context;
  return {
    ...context,
    table,
    params: { ...params, table: table.id },
    path: tablePath(tenant.slug, app.slug, table.name),
    whyNotAlter: (endpoint: Pick<Endpoint, 'who'>) => why(endpoint) ?? whyNotActive(app),
    whyNotWrite: whyNotActive(app),
  };
}

export function isChangeable(
  { owner_column }: Pick<TableView, 'owner_column'>,
  { name, generated, mask }: SeenColumn,
) {
  return !generated && !mask && name !== 'id' && name !== owner_column;
}
