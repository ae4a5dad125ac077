import { dataScopesMax } from '@svc/contract/apps.ts';
import { parseDataScope } from '@svc/contract/data-scopes.ts';
import { findConnectorId } from '../../access/connectors/connectors.ts';
import type { AppRef, MutationCtx } from '../../core/context.ts';
import { validationError } from '../../core/problem.ts';
import { appTag } from '../../core/tags.ts';
import { type AppRow, lockAppRow, updateAppRow } from './store.ts';

/** What people may have overlooked in newly requested scopes; nothing of it is an error. */
export async function warnAboutScopes(
  ctx: MutationCtx,
  app: Pick<AppRow, 'tenant_id' | 'visibility' | 'approved_data_scopes' | 'data_scopes'>,
  before: readonly string[] = [],
): Promise<void> {
  const added = app.data_scopes.filter((scope) => !before.includes(scope));
  const connectors = new Set(added.flatMap((scope) => parseDataScope(scope)?.connector ?? []));
  for (const connector of connectors)
    if ((await findConnectorId(ctx.db, app.tenant_id, connector)) === null)
      ctx.warn(`There is no connector ${connector} yet.`);
  const isWaiting = added.some((scope) => !app.approved_data_scopes.includes(scope));
  if (isWaiting && app.visibility !== 'private')
    ctx.warn(
      'Until a review approves the new data scopes, only owners can use them: svc publish requests it.',
    );
}

/**
 * For a deployment whose svc.yaml names data scopes. Nothing is removed: the version that is live may still use it. Caller
 * must write the audit entry. Null if nothing is new.
 */
export async function addDataScopes(
  ctx: MutationCtx,
  { tenantId, appId }: AppRef,
  scopes: readonly string[],
): Promise<{ before: string[]; after: string[] } | null> {
  const app = await lockAppRow(ctx.db, tenantId, appId);
  if (!app) return null;
  const before = app.data_scopes;
  const after = [...new Set([...before, ...scopes])];
  if (after.length === before.length) return null;
  if (after.length > dataScopesMax)
    throw validationError('data_scopes', `would be ${after.length}; at most ${dataScopesMax} are allowed`);
  await updateAppRow(ctx.db, tenantId, appId, { data_scopes: after, updated_at: ctx.now });
  ctx.invalidate(appTag(appId));
  return { before, after };
}
