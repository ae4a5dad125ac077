import type { AppRef, MutationCtx } from '../../core/context.ts';
import { validationError } from '../../core/problem.ts';
import { appTag } from '../../core/tags.ts';
import { type AppRow, insertAppRow, listPreviewApps, updateSubdomain } from './store.ts';

export const previewSeparator = '--';
const hostLabelCharsMax = 63;

export function previewSlugCharsMax(subdomain: string | null): number {
  // `<branch>--staging` is the staging host of another app.
  if (subdomain === null || subdomain === 'staging') return 0;
  return hostLabelCharsMax - previewSeparator.length - subdomain.length;
}

/** Null when an app has its slug. Caller must hold the parent's row lock. */
export async function insertPreviewApp(
  ctx: MutationCtx,
  parent: AppRow,
  { slug, subdomain, name }: { slug: string; subdomain: string; name: string },
): Promise<AppRow | null> {
  const { deployment_status: _, operating_status: __, ...settings } = parent;
  const row = await insertAppRow(ctx.db, {
    ...settings,
    id: ctx.newId(),
    preview_of: parent.id,
    slug,
    subdomain,
    name,
    summary: '',
    description: '',
    category_id: null,
    icon_url: null,
    icon_dark_url: null,
    visibility: 'private',
    runtime: 'none',
    is_deployed: false,
    review_status: 'none',
    created_at: ctx.now,
    updated_at: ctx.now,
  });
  return row ?? null;
}

export async function movePreviewHosts(ctx: MutationCtx, { id, subdomain }: AppRow): Promise<void> {
  for (const preview of await listPreviewApps(ctx.db, id)) {
    const branch = preview.subdomain?.split(previewSeparator)[0] ?? '';
    if (branch.length > previewSlugCharsMax(subdomain))
      throw validationError('subdomain', `leaves no host for the preview ${preview.slug}; delete it first`);
    await updateSubdomain(ctx.db, preview, `${branch}${previewSeparator}${subdomain}`);
  }
}

export async function invalidateWithPreviews(
  ctx: Pick<MutationCtx, 'db' | 'invalidate'>,
  appId: AppRef['appId'],
): Promise<void> {
  ctx.invalidate(appTag(appId));
  for (const preview of await listPreviewApps(ctx.db, appId)) ctx.invalidate(appTag(preview.id));
}
