import { type Condition, decodeParameter, FilterError } from '@svc/contract/filter.ts';
import { emailScope } from '@svc/contract/people.ts';
import { peopleIdsMax } from '@svc/contract/rows.ts';
import { parseAlternative, ruleActions, type TableRules } from '@svc/contract/table-rules.ts';
import { type AppOfTenant, findAppOfTenant } from '../../apps/record/find-app.ts';
import { isVisibleTo } from '../../apps/record/rules.ts';
import { findDataScopes } from '../../apps/record/status-store.ts';
import { appRef, type Caller, ownsApp, type TenantAccess } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { fail, validationError } from '../../core/problem.ts';
import { isUuid } from '../../core/values.ts';
import type { AppRows, RowPool } from '../../drivers/row-database/row-pool.ts';
import type { FastPathResponse } from '../../http/handlers.ts';
import { describeMembers } from '../../people/tenants/members.ts';
import type { CatalogueColumn, TableCatalogue } from '../tables/catalogue.ts';
import { loadAppTables } from '../tables/load-catalogue.ts';
import { jsonResponse, type RowsPath } from './context.ts';
import { unknownParameterError } from './parse-query.ts';
import { isTableOutdated, rowError } from './row-errors.ts';
import type { RowTable } from './row-table.ts';
import { occurringSql } from './sql.ts';
import { callerTables, prepareAccessDecision } from './table-access.ts';

const peopleSegment = '_people';

/** `/data/{tenant}/{app}/_people`: the names of tables begin with a letter. */
export const isPeoplePath = ({ schema, table, rest }: RowsPath) =>
  schema === undefined && table === peopleSegment && rest.kind === 'table';

export interface PeopleDeps {
  db: Db;
  rowDb: RowPool;
  tenantAccess: (ref: string, caller: Caller) => Promise<TenantAccess | null>;
}

export interface PeopleCall {
  caller: Caller;
  method: string;
  path: RowsPath;
  search: string;
}

export async function listPeople(
  deps: PeopleDeps,
  { caller, method, path, search }: PeopleCall,
): Promise<FastPathResponse> {
  if (method !== 'GET' && method !== 'HEAD')
    throw fail('method_not_allowed', { headers: { allow: 'GET, HEAD' } });
  const { tenant, app, tables } = await readableTables(deps, caller, path);
  const ids = parseIds(search);
  const found = new Set(ids.filter((id) => id === caller.userId));
  for (const { table, columns } of tables) {
    for (const column of columns) {
      const missing = ids.filter((id) => !found.has(id));
      if (missing.length === 0) break;
      for (const id of await occurring(deps.rowDb.of(app.id), table, column, missing)) found.add(id);
    }
  }
  const members = await describeMembers(deps.db, tenant.id, [...found]);
  const hasEmails = await givesEmails(deps.db, caller, tenant.id, app);
  const data = members.map(({ id, name, email }) => ({
    id,
    name,
    email: hasEmails || id === caller.userId ? email : null,
  }));
  return jsonResponse(200, JSON.stringify({ data }));
}

async function occurring(
  rowDb: AppRows,
  table: RowTable,
  column: CatalogueColumn,
  missing: readonly string[],
): Promise<string[]> {
  const { text, values } = occurringSql(table, column, missing);
  try {
    const { rows } = await rowDb.run('read', text, values);
    return rows.flatMap(([id]) => id ?? []);
  } catch (error) {
    if (isTableOutdated(error)) throw fail('unavailable', {}, { cause: error });
    throw rowError(error, table) ?? error;
  }
}

interface PeopleTable {
  table: RowTable;
  columns: readonly CatalogueColumn[];
}

async function readableTables({ db, tenantAccess }: PeopleDeps, caller: Caller, path: RowsPath) {
  const tenant = await tenantAccess(path.tenant, caller);
  if (!tenant || (caller.scope && caller.scope.tenantId !== tenant.id)) throw fail('not_found');
  const { userId, ownApp } = caller;
  const app = await findAppOfTenant(db, tenant.id, { ref: path.app, userId, ownApp });
  if (!app) throw fail('not_found');
  const all = await loadAppTables(db, appRef({ tenant, app }));
  const allGrants = all.flatMap(({ grants }) => grants);
  const { decide } = await prepareAccessDecision(db, { tenant, app, caller }, allGrants);
  const open = all.flatMap(({ catalogue, grants }) => {
    const access = decide(catalogue, grants);
    return access ? [{ catalogue, access }] : [];
  });
  if (!canUse(caller, app) && !open.some(({ access }) => access.actions.has('read')))
    throw fail(open.length === 0 ? 'not_found' : 'forbidden');
  const tables = open.flatMap(({ catalogue, access }): PeopleTable[] => {
    if (!access.actions.has('read')) return [];
    const { table } = callerTables(catalogue, access, '');
    const columns = personColumns(catalogue).flatMap((column) => clearColumn(table, column) ?? []);
    return columns.length > 0 ? [{ table, columns }] : [];
  });
  return { tenant, app, tables };
}

function canUse({ scope, throughApp }: Caller, { id, visibility, relation }: AppOfTenant): boolean {
  const isSameApp = throughApp === undefined || throughApp === id;
  return !scope && isSameApp && isVisibleTo(visibility, relation, 'tenant_member');
}

function personColumns({ columns, owner, rules }: TableCatalogue): CatalogueColumn[] {
  const compared = comparedWithCaller(rules);
  return columns.filter(
    (column) =>
      column === owner || (compared.has(column.name) && (column.type === 'uuid' || column.type === 'text')),
  );
}

function comparedWithCaller(rules: TableRules): ReadonlySet<string> {
  const names = new Set<string>();
  const visit = (condition: Condition): void => {
    if (condition.kind !== 'test') condition.parts.forEach(visit);
    else if ([condition.operand].flat().includes('@me.id')) names.add(condition.column);
  };
  for (const alternative of ruleActions.flatMap((action) => rules[action]))
    parseAlternative(alternative).where.forEach(visit);
  return names;
}

function clearColumn({ view }: RowTable, column: CatalogueColumn): CatalogueColumn | null {
  if (view.columns === null) return column;
  const seen = view.columns.find(({ source, column: { name } }) => source === column && name === column.name);
  return seen?.cases.every(({ mask }) => mask === null) ? seen.column : null;
}

/** Owners see the addresses of an app's people in the console as well. */
async function givesEmails(
  db: Db,
  { ownApp, throughApp }: Caller,
  tenantId: string,
  { id, relation }: AppOfTenant,
): Promise<boolean> {
  if (throughApp === undefined && !ownApp && ownsApp(relation)) return true;
  const { requested, approved } = await findDataScopes(db, { tenantId, appId: id });
  return requested.includes(emailScope) && approved.includes(emailScope);
}

function parseIds(search: string): string[] {
  const pairs = search.split('&').filter((pair) => pair !== '');
  const [text, ...more] = pairs.map((pair) => {
    const [name = '', value = ''] = pair.split('=', 2).map(decode);
    if (name !== 'ids') throw unknownParameterError(name);
    return value;
  });
  if (text === undefined || more.length > 0) throw validationError('ids', 'must be given once');
  const ids = [...new Set(text.split(',').filter((id) => id !== ''))].map((id) => id.toLowerCase());
  if (ids.length > peopleIdsMax) throw validationError('ids', `must be at most ${peopleIdsMax} ids`);
  if (!ids.every(isUuid)) throw validationError('ids', 'must be user ids, separated by commas');
  return ids;
}

function decode(text: string): string {
  try {
    return decodeParameter(text, 'ids');
  } catch (error) {
    throw error instanceof FilterError ? validationError(error.field, error.detail, error.code) : error;
  }
}
