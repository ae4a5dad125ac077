import type { EnvVariable } from '@svc/contract/deployments.shapes.ts';
import { type envEnvironments, envVariablesMax } from '@svc/contract/deployments.ts';
import { sql } from 'kysely';
import type { z } from 'zod';
import { lockAppFor } from '../../apps/record/app-access.ts';
import { findAppById } from '../../apps/record/find-app.ts';
import type { AppAccess, AppCtx, AppMutationCtx, AppRef } from '../../core/context.ts';
import type { Db, Tx } from '../../core/db.ts';
import { declareSealingKey } from '../../core/keys.ts';
import { type PageQuery, paginate } from '../../core/paging.ts';
import { fail } from '../../core/problem.ts';
import { seal, sealingKey, unseal } from '../../core/seal.ts';
import { platformVariableNames } from '../../drivers/runtime/open-runtime.ts';
import type { Runtime } from '../../drivers/runtime/runtime.ts';
import { findConnection } from '../git-connections/connections.ts';
import type { SiteUrls } from '../static-sites/rules.ts';
import { platformEnvNames } from './platform-env.ts';

type EnvRecord = z.output<typeof EnvVariable>;

export async function listEnv(
  ctx: AppCtx,
  { environment, ...query }: PageQuery & { environment: Environment },
  urls: EnvDeps,
) {
  const scope = { tenantId: ctx.tenant.id, appId: ctx.app.id, environment };
  return paginate(query, await envRecords(ctx.db, urls, scope));
}

export type EnvDeps = SiteUrls & {
  runtime: Pick<Runtime, 'kind'>;
  /** Passed in by the module: deployments come after this slice. */
  findLiveDeployment(
    db: Db,
    app: AppRef,
  ): Promise<{ commit_sha: string | null; start_with: { env?: Record<string, string> } | null } | undefined>;
};

/** Each name once. Variables of the runtime win, then those of owners, of the platform and of `svc.yaml`. */
async function envRecords(db: Db, urls: EnvDeps, scope: EnvScope): Promise<EnvRecord[]> {
  const appRef = { tenantId: scope.tenantId, appId: scope.appId };
  const own = (await listEnvRows(db, scope)).map(
    ({ name, updated_by, updated_at }): EnvRecord => ({
      name,
      given_by: 'app',
      updated_by,
      updated_at: updated_at.toISOString(),
    }),
  );
  // Further variables of a preview depend on its branch.
  if (scope.environment === 'preview') return own;
  const live = await urls.findLiveDeployment(db, appRef);
  const commit = live ? live.commit_sha : await nextCommit(db, appRef);
  const sources = new Map<string, EnvRecord['given_by']>();
  for (const name of Object.keys(live?.start_with?.env ?? {})) sources.set(name, 'manifest');
  for (const name of await platformEnvNames(db, urls, { ...appRef, commit })) sources.set(name, 'platform');
  for (const { name } of own) sources.set(name, 'app');
  for (const name of platformVariableNames(urls.runtime, [...sources.keys()])) sources.set(name, 'platform');
  const recordsFrom = (source: EnvRecord['given_by']) =>
    [...sources.keys()]
      .filter((name) => sources.get(name) === source)
      .sort()
      .map((name): EnvRecord => ({ name, given_by: source, updated_by: null, updated_at: null }));
  return [...own, ...recordsFrom('platform'), ...recordsFrom('manifest')];
}

/** Only source from a repository has a commit. */
async function nextCommit(db: Db, appRef: AppRef): Promise<string | null> {
  return (await findConnection(db, appRef)) ? '' : null;
}

/** A running app keeps its variables; the next deployment uses the changed ones. */
export async function changeEnv(
  ctx: AppMutationCtx,
  input: EnvChangeInput & { environment: Environment },
  urls: EnvDeps,
): Promise<{ items: EnvRecord[]; changed?: false }> {
  const app = await lockAppFor(ctx, { required: 'owners' });
  requireActiveApp(app);
  const { environment } = input;
  const scope = { tenantId: ctx.tenant.id, appId: app.id, environment };
  const current = await openValues(ctx.db, await listEnvRows(ctx.db, scope));
  const changes = diffEnv(current, input);
  checkVariableLimit(current, changes);
  for (const name of [...changes.added, ...changes.changed]) {
    await putEnvRow(ctx.db, {
      app_id: app.id,
      tenant_id: scope.tenantId,
      environment,
      name,
      value_sealed: await sealValue(ctx.db, {
        appId: app.id,
        environment,
        name,
        value: input.set[name] ?? '',
      }),
      updated_by: ctx.caller.userId,
      updated_at: ctx.now,
    });
  }
  for (const name of changes.removed) await deleteEnvRow(ctx.db, scope, name);
  ctx.audit({
    action: 'env.change',
    appId: app.id,
    target: { kind: 'app', id: app.id, name: app.slug },
    ...auditChanges(changes, environment),
  });
  const isChanged = Object.values(changes).some((names) => names.length > 0);
  const items = await envRecords(ctx.db, urls, scope);
  return isChanged ? { items } : { items, changed: false };
}

export async function countEnv(db: Db, appRef: AppRef): Promise<number> {
  return countEnvRows(db, appRef);
}

/** Plain values are never for a response. A preview gets only the variables that its app has for previews. */
export async function loadEnv(db: Db, { tenantId, appId }: AppRef): Promise<Record<string, string>> {
  const previewOf = (await findAppById({ db }, { id: appId }))?.previewOf ?? null;
  const scope: EnvScope =
    previewOf === null
      ? { tenantId, appId, environment: 'production' }
      : { tenantId, appId: previewOf, environment: 'preview' };
  return Object.fromEntries(await openValues(db, await listEnvRows(db, scope)));
}

export const envKey = declareSealingKey({
  name: 'app_env.sealing_key',
  protects: 'Environment variables of apps',
  columns: {
    'app_env.value_sealed':
      "app_id || ' ' || name || case environment when 'production' then '' else ' ' || environment end",
  },
});

interface SealedName {
  appId: string;
  name: string;
  environment: Environment;
}

/** A value that is copied to another row cannot be opened. */
const boundTo = ({ appId, name, environment }: SealedName) =>
  `${appId} ${name}${environment === 'production' ? '' : ` ${environment}`}`;

async function sealValue(db: Db, { value, ...row }: SealedName & { value: string }) {
  return seal(await sealingKey(db, envKey), { text: value, boundTo: boundTo(row) });
}

async function openValues(db: Db, rows: readonly EnvRow[]): Promise<Map<string, string>> {
  if (rows.length === 0) return new Map();
  const key = await sealingKey(db, envKey);
  return new Map(
    rows.map(({ app_id: appId, name, environment, value_sealed: sealed }) => [
      name,
      unseal(key, { sealed, boundTo: boundTo({ appId, name, environment }) }),
    ]),
  );
}

interface EnvChangeInput {
  set: Readonly<Record<string, string>>;
  unset: readonly string[];
}

type EnvChanges = ReturnType<typeof diffEnv>;

function diffEnv(current: ReadonlyMap<string, string>, { set, unset }: EnvChangeInput) {
  const names = Object.keys(set).sort();
  return {
    added: names.filter((name) => !current.has(name)),
    changed: names.filter((name) => current.has(name) && current.get(name) !== set[name]),
    removed: [...new Set(unset)].filter((name) => current.has(name)).sort(),
  };
}

function checkVariableLimit(current: ReadonlyMap<string, string>, { added, removed }: EnvChanges) {
  if (added.length === 0 || current.size + added.length - removed.length <= envVariablesMax) return;
  throw fail('limit_reached', { detail: `An app may have at most ${envVariablesMax} variables.` });
}

/** For plan and audit log: names only, never a value or its hash. */
function auditChanges({ added, changed, removed }: EnvChanges, environment: Environment) {
  const prefix = environment === 'production' ? '' : `${environment} `;
  const each = (names: readonly string[], word: string | null) =>
    names.map((name) => [`${prefix}${name}`, word] as const);
  return {
    before: Object.fromEntries([...each(added, null), ...each(changed, 'set'), ...each(removed, 'set')]),
    after: Object.fromEntries([...each(added, 'set'), ...each(changed, 'changed'), ...each(removed, null)]),
  };
}

function requireActiveApp({ record }: Pick<AppAccess, 'record'>): void {
  if (record !== 'active')
    throw fail('app_not_active', { detail: 'The app is archived; reactivate it first.' });
}

type Environment = (typeof envEnvironments)[number];

interface EnvScope extends AppRef {
  environment: Environment;
}

interface EnvRow {
  app_id: string;
  tenant_id: string;
  environment: Environment;
  name: string;
  value_sealed: Buffer;
  updated_by: string;
  updated_at: Date;
}
type Tables = { app_env: EnvRow };

function listEnvRows(db: Db, { tenantId, appId, environment }: EnvScope): Promise<EnvRow[]> {
  return db
    .withTables<Tables>()
    .selectFrom('app_env')
    .selectAll()
    .where((row) => row.and({ tenant_id: tenantId, app_id: appId, environment }))
    .orderBy('name')
    .execute();
}

async function putEnvRow(tx: Tx, row: EnvRow): Promise<void> {
  const { value_sealed, updated_by, updated_at } = row;
  await tx
    .withTables<Tables>()
    .insertInto('app_env')
    .values(row)
    .onConflict((conflict) =>
      conflict
        .columns(['app_id', 'environment', 'name'])
        .doUpdateSet({ value_sealed, updated_by, updated_at }),
    )
    .execute();
}

async function deleteEnvRow(tx: Tx, { tenantId, appId, environment }: EnvScope, name: string): Promise<void> {
  await sql`delete from svc.app_env
    where tenant_id = ${tenantId} and app_id = ${appId} and environment = ${environment} and name = ${name}`.execute(
    tx,
  );
}

async function countEnvRows(db: Db, { tenantId, appId }: AppRef): Promise<number> {
  const { rows } = await sql<{ total: number }>`
    select count(*)::int as total from svc.app_env
    where tenant_id = ${tenantId} and app_id = ${appId}`.execute(db);
  return rows[0]?.total ?? 0;
}
