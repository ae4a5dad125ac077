import { type AccessLog, type GovernedData, readerOf } from '../../access/log/access-log.ts';
import type { Caller } from '../../core/context.ts';
import type { Access, Source } from './access.ts';
import type { RowsCtx } from './context.ts';
import type { RelatedPlan } from './plan-related.ts';
import type { EmbedPlan } from './related-sql.ts';
import type { Output, RowTable } from './row-table.ts';
import type { TableAccess } from './table-access.ts';

export interface GovernedTable {
  tenantId: string;
  connectorId: string;
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
  { caller, info }: { caller: Caller; info: { readonly requestId: string } },
): RecordRead {
  if (!governed) return ignoreRead;
  return ({ action, table, output, rows }) =>
    accessLog.recordRead(
      describeOnce(access, output, action, () => ({
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
      { rows, requestId: info.requestId },
    );
}

const ignoreRead = () => {};

type ByAction = Partial<Record<LoggedAction, GovernedData>>;
const known = new WeakMap<Access, WeakMap<Output, ByAction>>();

/** A decision is of one credential and one table: with the same columns, all of its entries are alike. */
function describeOnce(
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

type Shown = Record<string, unknown>;

/** Each table that rows were read of, with its own access. The rows are looked at only where somebody asks for their number. */
export function recordRelated(
  ctx: RowsCtx,
  { table, own, embeds, opened }: RelatedPlan,
  count: number,
  rows: () => Shown[],
): void {
  ctx.recordRead({ action: 'read', table, output: own, rows: count });
  const otherOf = (embed: EmbedPlan) => opened.get(embed.table.catalogue.id);
  const hasGoverned = (embed: EmbedPlan): boolean =>
    otherOf(embed)?.isGoverned || embed.embeds.some(hasGoverned);
  const record = (embed: EmbedPlan, holders: readonly Shown[]): void => {
    const related = holders.flatMap((row): Shown[] => [(row[embed.key] ?? []) as Shown | Shown[]].flat());
    if (embed.items.length > 0)
      otherOf(embed)?.recordRead({
        action: 'read',
        table: embed.table,
        output: embed.own,
        rows: related.length,
      });
    for (const inner of embed.embeds) record(inner, related);
  };
  if (!embeds.some(hasGoverned)) return;
  const shown = rows();
  for (const embed of embeds) record(embed, shown);
}
