import type { ColumnType } from '@svc/contract/columns.ts';

/** A table as the row path sees it: the names people use beside the physical ones. */
export interface TableCatalogue {
  id: string;
  tenantId: string;
  appId: string;
  name: string;
  /** Physical, as are the names of columns. */
  schema: string;
  table: string;
  version: number;
  columns: readonly CatalogueColumn[];
  idColumn: CatalogueColumn;
  owner: CatalogueColumn | null;
  /** Beside the id: what `on_conflict` may name, and what a conflict is told by. */
  unique: readonly UniqueIndex[];
}

export interface UniqueIndex {
  physical: string;
  columns: readonly CatalogueColumn[];
}

export interface CatalogueColumn {
  name: string;
  physical: string;
  type: ColumnType;
  nullable: boolean;
  default: ColumnDefault | null;
  role: ColumnRole;
}

/** `created_at` and `updated_at` only where they were not declared; a declared column of the name is a plain one. */
export type ColumnRole = 'id' | 'created_at' | 'updated_at' | 'owner' | 'plain';

/** Never SQL text: a literal, checked and spelt as PostgreSQL reads it back, or one of the functions. */
export type ColumnDefault =
  | { kind: 'literal'; text: string }
  | { kind: 'now' }
  | { kind: 'random_uuid' }
  /** Of an `id`: a UUIDv7, or the next number. */
  | { kind: 'uuid_v7' }
  | { kind: 'sequence' };

/** Row versions feed the `ETag`; no column of a user's can have the name. */
export const versionColumn = 'v';

export const schemaOf = (appId: string) => `app_${appId.replaceAll('-', '')}`;
export const tableOf = (tableId: string) => `t_${tableId.replaceAll('-', '')}`;
export const columnOf = (number: number) => `c${number}`;
export const indexOf = (indexId: string) => `i_${indexId.replaceAll('-', '')}`;
export const sequenceOf = (tableId: string) => `s_${tableId.replaceAll('-', '')}`;

/** What caches of a table hang on: everything of the app, and everything of the table. */
export const appTag = (appId: string) => `app:${appId}`;
export const tableTag = (tableId: string) => `table:${tableId}`;
