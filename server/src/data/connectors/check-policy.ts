import type { PolicyWarning, listPolicyWarnings as shape } from '@svc/contract/access-policies.shapes.ts';
import type { z } from 'zod';
import {
  findConnectorId,
  findConnectorRow,
  listAllConnectorRows,
} from '../../access/connectors/connectors.ts';
import { listUsedPolicyIds } from '../../access/grants/grants.ts';
import { loadEnabledPolicies, loadPoliciesOf, type PolicyRow } from '../../access/policies/policies.ts';
import { findAppById } from '../../apps/record/find-app.ts';
import type { MutationCtx, TenantCtx } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { paginate } from '../../core/paging.ts';
import { Failure, validationError } from '../../core/problem.ts';
import { isDeepEqual } from '../../core/values.ts';
import type { ForeignTable } from '../../drivers/connectors/types.ts';
import { maskProblem } from '../rows/masks.ts';
import { appliesTo, fitPolicy } from '../rows/policies.ts';
import type { TableCatalogue } from '../tables/catalogue.ts';
import type { Me } from '../tables/conditions.ts';
import { loadAppTables } from '../tables/load-catalogue.ts';
import { foreignCatalogue, listAllConnectorTables } from './foreign-tables.ts';

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

function unfitReason(policy: PolicyRow, catalogue: TableCatalogue): string | null {
  try {
    fitPolicy(policy, catalogue, nobody);
    return null;
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return error.cause instanceof Failure ? (error.cause.detail ?? '') : '';
  }
}

async function* tablesOf(db: Db, policy: PolicyRow) {
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

type Warning = z.output<typeof PolicyWarning>;

/** Tables change, and grants end, after a policy was saved. */
export async function listPolicyWarnings(ctx: TenantCtx, query: z.output<typeof shape.query>) {
  const connectorId = query.connector && (await findConnectorId(ctx.db, ctx.tenant.id, query.connector));
  // An unknown name matches no policy.
  if (connectorId === null) return paginate(query, []);
  const policies = (await loadEnabledPolicies(ctx.db, ctx.tenant.id)).filter(
    ({ id, name, connector_id }) =>
      (!query.policy || query.policy.toLowerCase() === id || query.policy === name) &&
      (!connectorId || connector_id === null || connector_id === connectorId),
  );
  const used = await listUsedPolicyIds(ctx.db, ctx.tenant.id);
  const warnings: Warning[] = [];
  for (const policy of policies) {
    const ofTables = await tableWarnings(ctx, policy, connectorId);
    warnings.push(...ofTables);
    if (!policy.enforced && !used.has(policy.id)) warnings.push(unusedWarning(policy));
  }
  return paginate(query, warnings);
}

async function tableWarnings(
  { db }: TenantCtx,
  policy: PolicyRow,
  connectorId: string | undefined,
): Promise<Warning[]> {
  const found: Warning[] = [];
  let isCovering = false;
  for await (const { connector, path, catalogue } of tablesOf(db, policy)) {
    isCovering = true;
    const problem = unfitReason(policy, catalogue);
    if (problem === null || (connectorId && connector.id !== connectorId)) continue;
    found.push({
      ...policyRef(policy),
      code: 'does_not_fit',
      connector_slug: connector.slug,
      path,
      text: `The policy “${policy.name}” does not fit ${path} of ${connector.slug}, so nobody can read the table with it. ${problem}`.trim(),
    });
  }
  if (isCovering) return found;
  const why =
    policy.resource_path === ''
      ? 'its connector has none that is known'
      : `there is none at ${policy.resource_path}`;
  const text = `The policy “${policy.name}” covers no table: ${why}.`;
  return [{ ...policyRef(policy), code: 'covers_no_table', connector_slug: '', path: '', text }];
}

const unusedWarning = (policy: PolicyRow): Warning => ({
  ...policyRef(policy),
  code: 'not_in_use',
  connector_slug: '',
  path: '',
  text: `The policy “${policy.name}” narrows nothing: it is not enforced, and no active grant names it.`,
});

const policyRef = ({ id, name }: PolicyRow) => ({ policy_id: id, policy_name: name });
