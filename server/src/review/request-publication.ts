import type { requestPublication as shape } from '@svc/contract/review.shapes.ts';
import { publicationDaysMax } from '@svc/contract/review.ts';
import type { z } from 'zod';
import { type HeldApp, holdApp } from '../apps/hold-app.ts';
import { markReviewed } from '../apps/mark-reviewed.ts';
import { widens } from '../apps/rules.ts';
import type { AppMutationCtx } from '../plumbing/context.ts';
import { daysAfter } from '../plumbing/days-after.ts';
import { fail } from '../plumbing/problem.ts';
import { endOverdue } from './end-overdue.ts';
import { publicationRecord } from './publication-records.ts';
import { refuseUnfit } from './refuse-unfit.ts';
import { type Deployed, isOver, isSamePin, type Pin, pinFor } from './rules.ts';
import { findOpenPublicationRow, insertPublicationRow, type PublicationRow } from './store.ts';
import { tellReviewers } from './tell.ts';
import { whatIsDeployed } from './what-is-deployed.ts';

type Input = z.output<typeof shape.body>;

/** Asks for a review of exactly what is deployed now: by its approval alone the app is shown to more people. */
export async function requestPublication(ctx: AppMutationCtx, input: Input) {
  const app = await holdApp(ctx, { wanted: 'owners' });
  refuseUnfit(app);
  if (!widens(app.visibility, input.visibility))
    throw fail('not_wider', {
      detail: `The app is ${app.visibility} already; to make it narrower, update it.`,
    });
  const place = { tenantId: ctx.tenant.id, appId: app.id };
  const deployed = await whatIsDeployed(ctx.db, place);
  const pin = choosePin(input.deployment_id, deployed);
  const open = await findOpenPublicationRow(ctx.db, place);
  if (open && !isOver(open, ctx.now, deployed)) return repeat(ctx, app, { waiting: open, input, pin });
  const row = newRow(ctx, app, { input, pin });
  // Before what ends by it: a plan is of what comes first.
  ctx.audit({
    action: 'publications.request',
    appId: app.id,
    target: { kind: 'publication_request', id: row.id, name: app.slug },
    before: null,
    after: {
      ...{ status: row.status, visibility: row.visibility, visibility_before: row.visibility_before },
      ...pin,
      ...{ note: row.note, expires_after_days: publicationDaysMax },
    },
  });
  if (open) await endOverdue(ctx, open);
  await insertPublicationRow(ctx.db, row);
  await markReviewed(ctx, place, 'pending');
  await tellReviewers(ctx, row);
  return publicationRecord(ctx, row);
}

function choosePin(named: string | undefined, deployed: Deployed): Pin {
  const pin = pinFor(named, deployed);
  if (pin) return pin;
  if (named === undefined) throw fail('nothing_deployed');
  throw fail('stale_deployment', { detail: `${named} is neither live nor staged.` });
}

/** Of who asked, for the very same: it waits already. */
async function repeat(
  ctx: AppMutationCtx,
  app: HeldApp,
  { waiting, input, pin }: { waiting: PublicationRow; input: Input; pin: Pin },
) {
  const isSame =
    waiting.requested_by === ctx.caller.userId &&
    waiting.visibility === input.visibility &&
    waiting.note === input.note &&
    isSamePin(waiting, pin);
  if (!isSame)
    throw fail('request_open', {
      detail: `Request ${waiting.id} for ${waiting.visibility} waits for its review; withdraw it first.`,
    });
  ctx.audit({
    action: 'publications.request',
    appId: app.id,
    target: { kind: 'publication_request', id: waiting.id, name: app.slug },
    before: {},
    after: {},
  });
  return { ...(await publicationRecord(ctx, waiting)), changed: false as const };
}

function newRow(
  ctx: AppMutationCtx,
  app: HeldApp,
  { input, pin }: { input: Input; pin: Pin },
): PublicationRow {
  return {
    id: ctx.newId(),
    tenant_id: ctx.tenant.id,
    app_id: app.id,
    status: 'pending',
    visibility: input.visibility,
    visibility_before: app.visibility,
    ...pin,
    note: input.note,
    requested_by: ctx.caller.userId,
    requested_at: ctx.now,
    expires_at: daysAfter(ctx.now, publicationDaysMax),
    decided_by: null,
    decided_at: null,
    reason: '',
  };
}
