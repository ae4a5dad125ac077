import { columnTypes } from '@svc/contract/columns.ts';
import { presetRules } from '@svc/contract/table-rules.ts';
import type { CatalogueColumn, TableCatalogue } from '../tables/catalogue.ts';
import { equals } from '../tables/conditions.ts';
import { type Access, viewOf } from './access.ts';
import { type RowTable, rowTable, wholeView } from './row-table.ts';

export function testColumn(name: string, at: number, more: Partial<CatalogueColumn> = {}): CatalogueColumn {
  const plain = { type: 'text', nullable: true, default: null, role: 'plain' } as const;
  return { ...plain, name, physical: `c${at}`, ...more };
}

const generatedId = { type: 'uuid', nullable: false, role: 'id', default: { kind: 'uuid_v7' } } as const;
export const idColumn = testColumn('id', 1, generatedId);
export const ownerColumn = testColumn('owner', 9, { nullable: false, role: 'owner' });
export const nameColumn = testColumn('name', 10, { nullable: false });
export const typedColumns = columnTypes.map((type, at) =>
  testColumn(type.replace('[]', 's'), at + 11, { type }),
);

export function testTable(more: Partial<TableCatalogue> = {}): RowTable {
  return rowTable(
    {
      id: '00000000-0000-7000-8000-000000000001',
      tenantId: 't',
      appId: 'a',
      name: 'pets',
      schema: 'app_1',
      table: 't_1',
      version: 3,
      columns: [idColumn, ownerColumn, nameColumn, ...typedColumns],
      idColumn,
      owner: ownerColumn,
      unique: [],
      rules: presetRules.own,
      ...more,
    },
    wholeView,
  );
}

const keys = { inner: '', outer: '' };

/** The table as somebody sees it who has access to their own rows only. */
export function ownRowsTable(userId: string): RowTable {
  const { catalogue } = testTable();
  return rowTable(catalogue, viewOf(ownRowsAccess(userId), 'read', catalogue, keys));
}

export function ownRowsAccess(userId: string): Access {
  const part = { where: equals(ownerColumn, userId), columns: null, writable: null };
  return {
    actions: new Set(['read', 'export', 'insert', 'update', 'delete']),
    alternatives: [
      {
        because: [],
        reads: { read: part, export: part },
        changes: { insert: part, update: part, delete: part },
        insertsOwn: true,
      },
    ],
    insertsOwn: true,
  };
}
