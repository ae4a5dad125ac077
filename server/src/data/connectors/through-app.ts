import { consolePaths } from '@svc/contract/console-paths.ts';
import { parseDataScope, scopedActions } from '@svc/contract/data-scopes.ts';
import { listPresetTerms } from '../../access/presets/presets.ts';
import { findDataScopes } from '../../apps/record/app-status.ts';
import { findAppOfTenant } from '../../apps/record/find-app.ts';
import { isVisibleTo } from '../../apps/record/rules.ts';
import { type Caller, ownsApp, type TenantAccess } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { type Failure, fail } from '../../core/problem.ts';
import type { RowAction } from '../rows/access.ts';

/** What an app may do with a table for its visitors, as far as their grants allow it. */
export interface ThroughApp {
  name: string;
  /** Whose changes may change this. */
  appIds: readonly string[];
  actions: ReadonlySet<RowAction>;
  /** Requested, but no review has approved it. */
  isWaiting: (action: RowAction) => boolean;
}

interface TableName {
  connector: string;
  path: string;
}

/**
 * Fails if the app has no scope for the table, whether or not the table exists. Null if the app is not visible to the
 * caller. Owners try out what they request before a review approves it.
 */
export async function loadThroughApp(
  db: Db,
  tenant: TenantAccess,
  { userId, throughApp = '' }: Caller,
  table: TableName,
): Promise<ThroughApp | null> {
  const app = await findAppOfTenant(db, tenant.id, { ref: throughApp, userId });
  if (!app || !isVisibleTo(app.visibility, app.relation, 'tenant_member')) return null;
  const { requested, approved } = await findDataScopes(db, { tenantId: tenant.id, appId: app.id });
  const usable = ownsApp(app.relation) ? requested : requested.filter((scope) => approved.includes(scope));
  const wanted = scopedActions(requested, table);
  const actions = scopedActions(usable, table);
  const through = {
    name: app.name,
    appIds: [app.id, ...(app.previewOf === null ? [] : [app.previewOf])],
    actions,
    isWaiting: (action: RowAction) => wanted.has(action) && !actions.has(action),
  };
  if (actions.size === 0) throw scopeError(through, table, 'read');
  return through;
}

/** Why an action is missing: the app lacks a scope, or the visitor a grant. */
export async function refuseThrough(
  { db, baseUrl }: { db: Db; baseUrl: string },
  through: ThroughApp,
  { tenant, table }: { tenant: TenantAccess; table: TableName },
): Promise<(action: RowAction) => Failure> {
  const presets = await listPresetTerms(db, tenant.id);
  return (action) => {
    if (!through.actions.has(action)) return scopeError(through, table, action);
    const fitting = presets.filter(({ actions }) => actions.includes(action) && actions.includes('read'));
    // The smallest one that is enough.
    const [preset] = fitting.toSorted((one, other) => one.actions.length - other.actions.length);
    const form = consolePaths.requestAccess(tenant.slug, {
      connector: table.connector,
      ...(preset && { preset: preset.name }),
      scope: table.path,
      reason: `For the app ${through.name}`,
    });
    return fail('grant_missing', {
      detail: `You have no grant to ${action} ${table.path} of ${table.connector}. Request one at ${baseUrl}${form}`,
      requestUrl: `${baseUrl}${form}`,
    });
  };
}

function scopeError(
  { name, isWaiting }: ThroughApp,
  { connector, path }: TableName,
  action: RowAction,
): Failure {
  const scope = `${connector}/${path}:${action}`;
  const isScope = parseDataScope(scope) !== null;
  return fail('data_scope_missing', {
    detail: isWaiting(action)
      ? `The data scope of the app ${name} for ${scope} is not approved yet.`
      : `The app ${name} has no data scope${isScope ? ` ${scope}` : ' for this table'}. Its owners can request it.`,
  });
}
