import type { Answer, Endpoint } from '@svc/contract/endpoint.ts';
import { tablePath } from '@svc/contract/row-path.ts';
import type { getTable } from '@svc/contract/tables.ts';
import { createContext, useContext } from 'react';
import { useApp } from '../use-app.ts';
import { whyNotActive } from '../why-not-active.ts';

export type TableView = Answer<NonNullable<typeof getTable.shape>>;
export type ColumnView = TableView['columns'][number];

const TableContext = createContext<TableView | null>(null);
export const TableProvider = TableContext.Provider;

/** The table that the page is about. */
export function useTable() {
  const table = useContext(TableContext);
  const shown = useApp();
  if (!table) throw new Error('Only pages of a table ask for it.');
  const { app, tenant, params, why } = shown;
  return {
    ...shown,
    table,
    params: { ...params, table: table.id },
    /** Of its rows, in the data API. */
    path: tablePath(tenant.slug, app.slug, table.name),
    /** Why its shape can not be changed. */
    whyShape: (endpoint: Pick<Endpoint, 'who'>) => why(endpoint) ?? whyNotActive(app),
    /** Why its rows can not be changed. */
    whyRows: whyNotActive(app),
  };
}

/** What a change of a row may set: the id, the owner and what the service keeps stay as they are. */
export function isChangeable(
  { owner_column }: Pick<TableView, 'owner_column'>,
  { name, generated }: ColumnView,
) {
  return !generated && name !== 'id' && name !== owner_column;
}
