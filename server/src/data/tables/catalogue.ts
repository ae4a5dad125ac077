import type { ColumnChecks } from '@svc/contract/column-checks.ts';
import type { DeleteAction } from '@svc/contract/column-families.ts';
import type { ColumnType, JsonKind } from '@svc/contract/columns.ts';
import type { TableRules } from '@svc/contract/table-rules.ts';
import { escapeIdentifier } from 'pg';

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
  unique: readonly { physical: string; columns: readonly CatalogueColumn[] }[];
  search?: { language: string; columns: readonly { column: CatalogueColumn; vector: string }[] };
  foreign?: ForeignSource;
  rules: TableRules;
  changes?: boolean;
  historyDays?: number | null;
  softDeleteDays?: number | null;
  referencedBy?: readonly CatalogueReferrer[];
}

export interface CatalogueReferrer {
  tableId: string;
  table: string;
  column: string;
  onDelete: DeleteAction;
  physical: string;
}

export interface ForeignSource {
  kind: 'postgres' | 'mysql';
  from: string;
  keys: readonly CatalogueColumn[];
}

export interface CatalogueColumn {
  name: string;
  physical: string;
  type: ColumnType;
  nullable: boolean;
  default: ColumnDefault | null;
  role: ColumnRole;
  checks?: ColumnChecks | null;
  ref?: { tableId: string; table: string; onDelete: DeleteAction };
  json?: JsonKind;
  sqlType?: string;
  /** Connectors: a text whose order is not that of its bytes. */
  hasOtherOrder?: true;
  /** Connectors: the server has no value for it if a row has none, unless a trigger sets it. */
  isRequired?: true;
}

/** A declared column named `created_at` or `updated_at` has role `plain`. */
export type ColumnRole = 'id' | 'created_at' | 'updated_at' | 'owner' | 'plain';

/** Never SQL text: a checked literal or one of the functions. */
export type ColumnDefault =
  /** `json`, if it is not the text itself: the value as in a row. */
  | { kind: 'literal'; text: string; json?: string }
  | { kind: 'now' }
  | { kind: 'random_uuid' }
  | { kind: 'uuid_v7' }
  | { kind: 'sequence' };

export const versionColumn = 'v';

export const physicalSchemaName = (appId: string) => `app_${appId.replaceAll('-', '')}`;
export const physicalTableName = (tableId: string) => `t_${tableId.replaceAll('-', '')}`;
export const physicalColumnName = (number: number) => `c${number}`;
export const physicalVectorName = (number: number) => `s${number}`;
export const physicalCheckName = (number: number, check: string) => `k${number}_${check}`;
export const physicalForeignKeyName = (number: number) => `f${number}`;
export const physicalTriggerName = (number: number) => `g${number}`;
export const physicalIndexName = (indexId: string) => `i_${indexId.replaceAll('-', '')}`;
export const physicalLogName = (tableId: string) => `l_${tableId.replaceAll('-', '')}`;
export const physicalLogFunctionName = (tableId: string) => `f_${tableId.replaceAll('-', '')}`;
export const physicalSequenceName = (tableId: string) => `s_${tableId.replaceAll('-', '')}`;

export interface TableId {
  id: string;
  app_id: string;
}

export const inSchema = (table: Pick<TableId, 'app_id'>, name: string): string =>
  `${escapeIdentifier(physicalSchemaName(table.app_id))}.${escapeIdentifier(name)}`;
export const qualifiedTable = (table: TableId): string => inSchema(table, physicalTableName(table.id));
