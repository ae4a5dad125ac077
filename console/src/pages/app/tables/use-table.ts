import { refTarget } from '@svc/contract/column-families.ts';
import { valueType } from '@svc/contract/columns.ts';
import type { Answer, Endpoint } from '@svc/contract/endpoint.ts';
import { tablePath } from '@svc/contract/row-path.ts';
import type { getTable } from '@svc/contract/tables.ts';
import { createContext, useContext } from 'react';
import { whyNotActive } from '../rules.ts';
import { useApp } from '../use-app.tsx';

type TableRecord = Answer<NonNullable<typeof getTable.shape>>;
/** `ref`: the table that the column refers to, where `type` is that of its values. */
export type ColumnView = TableRecord['columns'][number] & { ref?: string };
/** `mask` is the mask that applies to the reader. */
export type VisibleColumn = ColumnView & { mask?: string | null };
export type TableView = Omit<TableRecord, 'columns'> & { columns: ColumnView[] };

const withValues = new WeakMap<TableView, TableView>();

/** Gives references the type of their values, which cells are edited by. */
export function withValueTypes(table: TableView): TableView {
  const found = withValues.get(table);
  if (found) return found;
  const columns = table.columns.map((column) => {
    const ref = refTarget(column.type);
    return ref === null ? column : { ...column, type: valueType(column), ref };
  });
  const view = { ...table, columns };
  withValues.set(table, view);
  return view;
}

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
  { name, generated, mask }: VisibleColumn,
) {
  return !generated && !mask && name !== 'id' && name !== owner_column;
}
