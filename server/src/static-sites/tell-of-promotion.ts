import { consolePaths } from '@svc/contract/console-paths.ts';
import { ownerIdsOf } from '../apps/owner-ids-of.ts';
import { notify } from '../notifications/notify.ts';
import { withWords } from '../notifications/rules.ts';
import type { AppMutationCtx } from '../plumbing/context.ts';
import { activeAdminIds } from '../tenants/active-admin-ids.ts';
import type { HeldRelease } from './hold-release.ts';
import { releaseName } from './rules.ts';

/** Somebody has to look at it: every admin but who asks. */
export async function tellReviewers(
  ctx: AppMutationCtx,
  held: HeldRelease,
  { note }: { note: string },
): Promise<void> {
  const admins = await activeAdminIds(ctx.db, ctx.tenant.id);
  await notify(ctx, {
    ...about(ctx, held),
    kind: 'promotion_requested',
    userIds: admins.filter((id) => id !== ctx.caller.userId),
    title: `${held.app.name}: release ${releaseName(held.release)} waits for a review`,
    text: withWords(`${ctx.caller.email} asks for it to be shown. It can be seen on the staging host.`, note),
  });
}

/** Those of the app; not who has decided it. Who asked and owns the app no more has no part in it. */
export async function tellOfDecision(
  ctx: AppMutationCtx,
  held: HeldRelease,
  { outcome, words }: { outcome: 'approved' | 'rejected'; words: string },
): Promise<void> {
  const owners = await ownerIdsOf(ctx.db, held.place);
  const release = `${held.app.name}: release ${releaseName(held.release)}`;
  await notify(ctx, {
    ...about(ctx, held),
    kind: outcome === 'approved' ? 'promotion_approved' : 'promotion_rejected',
    userIds: owners.filter((id) => id !== ctx.caller.userId),
    title: outcome === 'approved' ? `${release} was approved and is live` : `${release} was rejected`,
    text: withWords(
      outcome === 'approved'
        ? `${ctx.caller.email} has approved it.`
        : `${ctx.caller.email} has rejected it. It stays staged.`,
      words,
    ),
  });
}

function about({ tenant }: AppMutationCtx, { app, release }: HeldRelease) {
  return {
    ...{ tenantId: tenant.id, appId: app.id },
    path: consolePaths.release(tenant.slug, app.slug, release.id),
  };
}
