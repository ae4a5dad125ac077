import { findConnectorRow, listAllConnectorRows } from '../../access/connectors/connectors.ts';
import { loadPoliciesOf, type PolicyRow } from '../../access/policies/policies.ts';
import { findAppById } from '../../apps/record/find-app.ts';
import type { MutationCtx } from '../../core/context.ts';
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
  for await (const { path, catalogue } of tablesOf(ctx, policy)) {
    for (const mask of policy.masks) {
      const column = catalogue.columns.find(({ name }) => name === mask.column);
      const problem = column && maskProblem(mask, column.type);
      if (problem) throw validationError('masks', `${mask.column} of ${path}: ${problem}`);
    }
    if (!fits(policy, catalogue)) unfit.push(path);
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
        !fits(policy, foreignCatalogue(table, { id, tenantId, kind }));
      return isUnfit ? [`${policy.name}: ${path}`] : [];
    }),
  );
}

function fits(policy: PolicyRow, catalogue: TableCatalogue): boolean {
  try {
    fitPolicy(policy, catalogue, nobody);
    return true;
  } catch (error) {
    if (error instanceof Failure) return false;
    throw error;
  }
}

async function* tablesOf({ db }: MutationCtx, policy: PolicyRow) {
  const tenantId = policy.tenant_id;
  const one = policy.connector_id && (await findConnectorRow(db, tenantId, policy.connector_id));
  const connectors = policy.connector_id ? (one ? [one] : []) : await listAllConnectorRows(db, tenantId);
  for (const { id, kind, app_id, slug } of connectors) {
    const isCovered = (path: string) => appliesTo(policy, { connectorId: id, path });
    if (kind === 'tables' && app_id !== null) {
      const app = await findAppById({ db }, { id: app_id });
      for (const { catalogue } of app ? await loadAppTables(db, { tenantId, appId: app_id }) : []) {
        const path = `${app?.slug}/${catalogue.name}`;
        if (isCovered(path)) yield { path, catalogue };
      }
    }
    if (kind !== 'postgres' && kind !== 'mysql') continue;
    for (const table of await listAllConnectorTables(db, { tenantId, connectorId: id })) {
      const path = `${table.schema}/${table.name}`;
      if (isCovered(path))
        yield { path: `${slug}:${path}`, catalogue: foreignCatalogue(table, { id, tenantId, kind }) };
    }
  }
}
