import { FilterError, parseRowFilter } from '@svc/contract/filter.ts';
import type { PlanEffect } from '@svc/contract/plan.ts';
import { findConnectorRow } from '../../access/connectors/connectors.ts';
import { listGrantFacts } from '../../access/grants/grants.ts';
import { covers, isInScope } from '../../access/grants/rules.ts';
import type { PolicyChange } from '../../access/policies/rules.ts';
import type { Foreseen, TenantAccess, TenantMutationCtx } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { Failure } from '../../core/problem.ts';
import { accessByGrants, type ConnectorRow, openSource, type TableSource } from '../connectors/access.ts';
import { listTablePaths } from '../connectors/connectors.ts';
import { loadMe } from '../connectors/granted-access.ts';
import type { ReadPart } from '../rows/access.ts';
import { allOf, type Me, namesCaller, never, type PlannedCondition } from '../tables/conditions.ts';
import type { PreviewDeps } from './resolve.ts';
import { countRows, wholeTable } from './sample.ts';
import { listWords } from './words.ts';

const grantsMax = 200;
const effectsMax = 50;
const examinedMax = 500;
const countMsMax = 5_000;

type Granted = Awaited<ReturnType<typeof listGrantFacts>>[number];

export function createPolicyEffects(deps: PreviewDeps) {
  return async ({ db, tenant }: TenantMutationCtx, change: PolicyChange): Promise<Foreseen> => {
    const countUntil = performance.now() + countMsMax;
    const found: PlanEffect[] = [];
    let examined = 0;
    let leftOff = 0;
    const connectors = new Map<string, { connector: ConnectorRow; paths: readonly string[] }>();
    for (const granted of await listGrants(db, tenant, change)) {
      const { connectorId, scope } = granted.grant;
      const of = connectors.get(connectorId) ?? (await loadConnector(deps, tenant, connectorId));
      if (!of) continue;
      connectors.set(connectorId, of);
      const paths = of.paths.filter((path) => isInScope(scope, path) && isAbout(change, path));
      for (const path of paths) {
        if (++examined > examinedMax || found.length >= effectsMax) {
          leftOff++;
          continue;
        }
        const isCounted = performance.now() < countUntil;
        const effect = await effectOn(deps, { db, tenant, granted, path, ...of, change, isCounted });
        if (effect) found.push(effect);
      }
    }
    return { effects: found, leftOff };
  };
}

const versions = ({ before, after }: PolicyChange) => [before, after].filter((policy) => policy !== null);

function isAbout(change: PolicyChange, path: string): boolean {
  return versions(change).some(({ resource_path }) => resource_path === '' || covers(resource_path, path));
}

function listGrants(db: Db, tenant: TenantAccess, change: PolicyChange): Promise<Granted[]> {
  const policies = versions(change);
  const [policy] = policies;
  if (!policy) return Promise.resolve([]);
  const isForAll = policies.some(({ enforced }) => enforced);
  const connectorIds = new Set(policies.map(({ connector_id }) => connector_id));
  const [connectorId] = connectorIds;
  const filter = isForAll
    ? { ...(connectorIds.size === 1 && connectorId ? { connectorId } : {}) }
    : { policyId: policy.id };
  return listGrantFacts(db, tenant.id, filter, grantsMax);
}

async function loadConnector(deps: PreviewDeps, tenant: TenantAccess, id: string) {
  const connector = await findConnectorRow(deps.db, tenant.id, id);
  return connector && { connector, paths: await listTablePaths(deps.db, tenant.id, connector) };
}

interface Examined {
  db: Db;
  tenant: TenantAccess;
  granted: Granted;
  connector: ConnectorRow;
  path: string;
  change: PolicyChange;
  isCounted: boolean;
}

async function effectOn(deps: PreviewDeps, examined: Examined): Promise<PlanEffect | null> {
  const { db, tenant, granted, connector, path, change, isCounted } = examined;
  const [schema = '', table = ''] = path.split('/');
  const ref = { tenant: tenant.id, app: connector.slug, schema, table };
  const source = await openSource(deps, tenant, connector, ref);
  if (!source) return null;
  const { subject, grant } = granted;
  const me = await meOf(deps.db, tenant, subject, connector);
  const about = { caller: {}, connector, path, me, source, grants: [grant] };
  const [before, after] = await Promise.all(
    [deps.db, db].map((each) => readPart(accessByGrants({ ...deps, db: each }, tenant, about))),
  );
  if (!before || !after) return null;
  const isSameForAll = subject.kind !== 'group' || !versions(change).some(differsByPerson);
  const rows = isCounted && isSameForAll ? await compareRows(deps, source, before.where, after.where) : null;
  const names = source.catalogue.columns.map(({ name }) => name).filter((name) => name !== '');
  const [seenBefore, seenAfter] = [seenColumns(before, names), seenColumns(after, names)];
  const effect = {
    grant_id: grant.id,
    subject,
    path: `${connector.slug}/${path}`,
    rows,
    columns_gained: names.filter((name) => !seenBefore.has(name) && seenAfter.has(name)),
    columns_lost: names.filter((name) => seenBefore.has(name) && !seenAfter.has(name)),
    masks: names.flatMap((column) => {
      const [one, other] = [seenBefore.get(column), seenAfter.get(column)];
      return one && other && one !== other ? [{ column, before: one, after: other }] : [];
    }),
  };
  const isChange =
    effect.columns_gained.length + effect.columns_lost.length + effect.masks.length > 0 ||
    (rows ? rows.gained + rows.lost > 0 : isOther(before.where, after.where));
  if (!isChange) return null;
  const text = after === unfitting ? `${subject.name}, ${effect.path}: ${unfittingText}` : effectText(effect);
  return { ...effect, text };
}

async function readPart(access: ReturnType<typeof accessByGrants>): Promise<ReadPart> {
  try {
    const [alternative] = (await access)?.access.alternatives ?? [];
    return alternative?.reads.read ?? { where: never, columns: new Map() };
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== 'policy_unresolvable') throw error;
    return unfitting;
  }
}

const unfitting: ReadPart = { where: never, columns: new Map() };
const unfittingText =
  'nothing can be read any more, because the policy names columns or values that do not fit the table';

async function meOf(
  db: Db,
  tenant: TenantAccess,
  { kind, id, name }: Granted['subject'],
  connector: ConnectorRow,
): Promise<Me> {
  if (kind === 'user') return loadMe(db, tenant, { userId: id, email: name }, connector);
  const roles = connector.app_id === null ? null : [];
  return { id, email: '', roles, groups: kind === 'group' ? [{ id, name }] : [], attributes: {} };
}

function differsByPerson({ row_filter }: { row_filter: string }): boolean {
  try {
    return namesCaller(parseRowFilter(row_filter));
  } catch (error) {
    if (error instanceof FilterError) return false;
    throw error;
  }
}

const isOther = (one: PlannedCondition, other: PlannedCondition) =>
  JSON.stringify(one) !== JSON.stringify(other);

/** Three counts instead of a negation, which would be neither true nor false for rows with nulls. */
async function compareRows(
  deps: PreviewDeps,
  source: TableSource,
  one: PlannedCondition,
  other: PlannedCondition,
): Promise<PlanEffect['rows']> {
  const rowDb = source.rowDb ?? deps.rowDb.of(source.app.id);
  const table = wholeTable(source.catalogue);
  try {
    const before = await countRows(rowDb, table, [one]);
    if (!isOther(one, other)) return { before, after: before, gained: 0, lost: 0 };
    const after = await countRows(rowDb, table, [other]);
    const both = await countRows(rowDb, table, [allOf([one, other])]);
    return { before, after, gained: after - both, lost: before - both };
  } catch {
    // A data source that does not answer must not prevent the change of a policy.
    return null;
  }
}

function seenColumns({ columns }: ReadPart, names: readonly string[]): Map<string, string> {
  if (columns === null) return new Map(names.map((name) => [name, 'clear']));
  return new Map(
    names.flatMap((name) => {
      const column = columns.get(name);
      return column ? [[name, column.mask ? maskWords(column.mask) : 'clear'] as const] : [];
    }),
  );
}

const maskWords = ({ kind, args }: { kind: string; args: object }) =>
  Object.keys(args).length === 0 ? kind : `${kind} ${JSON.stringify(args)}`;

function effectText({ subject, path, rows, ...columns }: Omit<PlanEffect, 'text' | 'grant_id'>): string {
  const parts: string[] = [];
  if (!rows) parts.push('other rows than before, which are not counted here');
  else if (rows.gained + rows.lost > 0)
    parts.push(`${rows.after} rows instead of ${rows.before} (${rows.gained} gained, ${rows.lost} lost)`);
  if (columns.columns_gained.length > 0) parts.push(`gains ${listWords(columns.columns_gained)}`);
  if (columns.columns_lost.length > 0) parts.push(`loses ${listWords(columns.columns_lost)}`);
  for (const { column, before, after } of columns.masks) parts.push(`${column}: ${before} → ${after}`);
  return `${subject.name}, ${path}: ${parts.join('; ')}`;
}
