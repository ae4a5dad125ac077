import type { ColumnType } from '@svc/contract/columns.ts';

export interface TableCatalogue {
  id: string;
  tenantId: string;
  appId: string;
  name: string;
  schema: string;
  table: string;
  version: number;
  columns: readonly CatalogueColumn[];
  idColumn: CatalogueColumn;
  owner: CatalogueColumn | null;
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

/** A declared column named `created_at` or `updated_at` has role `plain`. */
export type ColumnRole = 'id' | 'created_at' | 'updated_at' | 'owner' | 'plain';

/** Never SQL text: a checked literal or one of the functions. */
export type ColumnDefault =
  | { kind: 'literal'; text: string }
  | { kind: 'now' }
  | { kind: 'random_uuid' }
  | { kind: 'uuid_v7' }
  | { kind: 'sequence' };

export const versionColumn = 'v';

export const physicalSchemaName = (appId: string) => `app_${appId.replaceAll('-', '')}`;
export const physicalTableName = (tableId: string) => `t_${tableId.replaceAll('-', '')}`;
export const physicalColumnName = (number: number) => `c${number}`;
export const physicalIndexName = (indexId: string) => `i_${indexId.replaceAll('-', '')}`;
export const physicalSequenceName = (tableId: string) => `s_${tableId.replaceAll('-', '')}`;
