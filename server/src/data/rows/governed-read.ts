import { type AccessLog, type GovernedData, readerOf } from '../../access/log/access-log.ts';
import type { Caller } from '../../core/context.ts';
import type { Access, Source } from './access.ts';
import type { Output, RowTable } from './row-table.ts';
import type { TableAccess } from './table-access.ts';

/** A table that grants open: who reads it is written down. */
export interface GovernedTable {
  tenantId: string;
  connectorId: string;
  /** Of a connector of kind `tables`: the app whose table it is. */
  appId: string | null;
  path: string;
}

type LoggedAction = 'read' | 'export' | 'preview';

export type RecordRead = (read: {
  action: LoggedAction;
  table: RowTable;
  output: Output;
  rows: number;
}) => void;

export function createRecordRead(
  accessLog: AccessLog,
  { governed, access }: Pick<TableAccess, 'governed' | 'access'>,
  { caller, requestId }: { caller: Caller; requestId: string },
): RecordRead {
  if (!governed) return ignoreRead;
  return ({ action, table, output, rows }) =>
    accessLog.recordRead(
      remembered(access, output, action, () => ({
        tenantId: governed.tenantId,
        ...readerOf(caller),
        connectorId: governed.connectorId,
        appId: governed.appId,
        resourcePath: governed.path,
        action,
        columns: output.columns.map(({ column }) => column.name),
        maskedColumns: maskedColumns(table, output),
        grantIds: idsOf(access, 'grant'),
        policyIds: idsOf(access, 'policy'),
      })),
      { rows, requestId },
    );
}

const ignoreRead = () => {};

type ByAction = Partial<Record<LoggedAction, GovernedData>>;
const known = new WeakMap<Access, WeakMap<Output, ByAction>>();

/** A decision is of one credential and one table: with the same columns, all of its entries are alike. */
function remembered(
  access: Access,
  output: Output,
  action: keyof ByAction,
  describe: () => GovernedData,
): GovernedData {
  const byOutput = known.get(access) ?? new WeakMap<Output, ByAction>();
  const byAction = byOutput.get(output) ?? {};
  const found = byAction[action];
  if (found) return found;
  const data = describe();
  known.set(access, byOutput);
  byOutput.set(output, { ...byAction, [action]: data });
  return data;
}

function maskedColumns({ view }: RowTable, { columns }: Output): string[] {
  const masked = (view.columns ?? []).filter(({ cases }) => cases.some(({ mask }) => mask !== null));
  return columns.flatMap(({ column }) =>
    masked.some((each) => each.column === column) ? [column.name] : [],
  );
}

const idsOf = ({ alternatives }: Access, kind: Source['kind']) => [
  ...new Set(
    alternatives.flatMap(({ because }) =>
      because.filter((source) => source.kind === kind).map(({ id }) => id),
    ),
  ),
];
