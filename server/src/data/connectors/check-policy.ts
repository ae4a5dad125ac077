import { findConnectorRow, listAllConnectorRows } from '../../access/connectors/connectors.ts';
import { loadPoliciesOf, type PolicyRow } from '../../access/policies/policies.ts';
import { findAppById } from '../../apps/record/find-app.ts';
import type { MutationCtx } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { Failure, validationError } from '../../core/problem.ts';
import { isDeepEqual } from '../../core/values.ts';
import type { ForeignTable } from '../../drivers/connectors/types.ts';
import { maskProblem } from '../rows/masks.ts';
import { appliesTo, fitPolicy } from '../rows/policies.ts';
import type { Me } from '../tables/caller-values.ts';
import type { TableCatalogue } from '../tables/catalogue.ts';
import { loadAppTables } from '../tables/load-catalogue.ts';
import { foreignCatalogue } from './foreign-catalogue.ts';
import { listAllConnectorTables } from './store.ts';

type ConnectorRow = NonNullable<Awaited<ReturnType<typeof findConnectorRow>>>;

const namedMax = 5;
const nobody: Me = { id: '', email: '', roles: [], groups: [], attributes: {} };

/** Refuses masks that do not fit, and warns of tables that the policy closes because it does not fit them. */
export async function checkSavedPolicy(
  ctx: MutationCtx,
  { policy, before }: { policy: PolicyRow; before: PolicyRow | null },
): Promise<void> {
  // A policy that does not fit any more can still be renamed and disabled.
  if (!policy.enabled || (before?.enabled && isDeepEqual(whatFits(before), whatFits(policy)))) return;
  const unfit: string[] = [];
  for await (const { label, catalogue } of tablesOf(ctx.db, policy)) {
    for (const mask of policy.masks) {
      const column = catalogue.columns.find(({ name }) => name === mask.column);
      const problem = column && maskProblem(mask, column.type);
      if (problem) throw validationError('masks', `${mask.column} of ${label}: ${problem}`);
    }
    if (unfitReason(policy, catalogue) !== null) unfit.push(label);
  }
  if (unfit.length > 0)
    ctx.warn(
      `The policy names columns or values that do not fit ${unfit.slice(0, namedMax).join(', ')}` +
        `${unfit.length > namedMax ? ` and ${unfit.length - namedMax} more` : ''}: nobody can read these tables with it.`,
    );
}

const whatFits = ({ connector_id, resource_path, row_filter, columns, masks }: PolicyRow) => ({
  connector_id,
  resource_path,
  row_filter,
  columns,
  masks,
});

/** As `policy: schema/table`. A column that was renamed closes the table instead of being shown under its new name. */
export async function listUnfitPolicies(
  { db }: MutationCtx,
  { id, tenant_id: tenantId, kind }: ConnectorRow,
  tables: readonly ForeignTable[],
): Promise<string[]> {
  if (kind !== 'postgres' && kind !== 'mysql') return [];
  const policies = await loadPoliciesOf(db, tenantId, [id]);
  return policies.flatMap((policy) =>
    tables.flatMap((table) => {
      const path = `${table.schema}/${table.name}`;
      const isUnfit =
        appliesTo(policy, { connectorId: id, path }) &&
        unfitReason(policy, foreignCatalogue(table, { id, tenantId, kind })) !== null;
      return isUnfit ? [`${policy.name}: ${path}`] : [];
    }),
  );
}

/** Null if the policy fits the table. */
export function unfitReason(policy: PolicyRow, catalogue: TableCatalogue): string | null {
  try {
    fitPolicy(policy, catalogue, nobody);
    return null;
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return error.cause instanceof Failure ? (error.cause.detail ?? '') : '';
  }
}

/** The tables that a policy covers. */
export async function* tablesOf(db: Db, policy: PolicyRow) {
  const tenantId = policy.tenant_id;
  const one = policy.connector_id && (await findConnectorRow(db, tenantId, policy.connector_id));
  const connectors = policy.connector_id ? (one ? [one] : []) : await listAllConnectorRows(db, tenantId);
  for (const { id, kind, app_id, slug } of connectors) {
    const isCovered = (path: string) => appliesTo(policy, { connectorId: id, path });
    if (kind === 'tables' && app_id !== null) {
      const app = await findAppById({ db }, { id: app_id });
      for (const { catalogue } of app ? await loadAppTables(db, { tenantId, appId: app_id }) : []) {
        const path = `${app?.slug}/${catalogue.name}`;
        if (isCovered(path)) yield { connector: { id, slug }, path, label: path, catalogue };
      }
    }
    if (kind !== 'postgres' && kind !== 'mysql') continue;
    for (const table of await listAllConnectorTables(db, { tenantId, connectorId: id })) {
      const path = `${table.schema}/${table.name}`;
      if (!isCovered(path)) continue;
      const catalogue = foreignCatalogue(table, { id, tenantId, kind });
      yield { connector: { id, slug }, path, label: `${slug}:${path}`, catalogue };
    }
  }
}
