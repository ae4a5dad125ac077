import { perPageMax } from '@svc/contract/limits.ts';
import {
  approveReview,
  getReview,
  listReviews,
  listReviewsOfApp,
  publicationStatuses,
  publishedVisibilities,
  readReviewLog,
  rejectReview,
  requestPublication,
  reviewKinds,
  withdrawReview,
} from '@svc/contract/review.ts';
import { defineCommand, describeCall } from '../command.ts';
import type { Flags } from '../framework/declaration.ts';
import { sanitize } from '../framework/text.ts';
import { appFlag, flagFields, pageFlags } from '../inputs/common.ts';
import { publicationView } from '../views/apps.ts';
import { reviewView } from '../views/reviews.ts';

const requestFlag = {
  'request-id': {
    type: 'string',
    placeholder: 'id',
    alias: ['request_id'],
    summary: 'Same as <request>',
  },
} as const satisfies Flags;

const requestTarget = {
  positionals: [{ name: 'request', optional: true, summary: 'Id of the request, from svc review list' }],
  oneRequired: [['request', 'request-id']],
  check: ({ flags, positionals }: { flags: object; positionals: { request: string | undefined } }) =>
    Reflect.get(flags, 'request-id') !== undefined && positionals.request !== undefined
      ? '<request> and --request-id cannot be combined.'
      : undefined,
} as const;

export const publishCommand = defineCommand({
  words: 'publish',
  summary: 'Request a review to show an app to more people',
  description:
    'The only way to widen the visibility of an app. The request covers what is deployed now: a tenant admin other ' +
    'than the requester, unless the requester is the only admin, approves or rejects it. Another deployment, a ' +
    'narrower visibility or archiving the app ends the request. With --deployment-id that deployment must be live; ' +
    'for a site with staging it may also be the staged release, which the approval then activates.',
  kind: 'mutate',
  flags: {
    ...appFlag,
    visibility: {
      type: 'enum',
      values: publishedVisibilities,
      required: true,
      summary: 'New visibility: invited members, the tenant, or everybody',
    },
    'deployment-id': {
      type: 'string',
      placeholder: 'id',
      summary: 'Deployment to review, or a release that no deployment created',
    },
    note: { type: 'string', summary: 'Note for the reviewer' },
  },
  endpoint: requestPublication,
  input: ({ flags }) => ({
    body: flagFields(flags, 'visibility', 'deployment-id', 'note'),
  }),
  view: publicationView,
  finish: async (ctx, result) => {
    if (ctx.mutation.mode !== 'execute') return result;
    const { id, changed, status, reason } = Object(result.value) as Record<string, unknown>;
    if (status === 'approved') {
      ctx.note(`${sanitize(String(reason))} The new visibility applies now.`);
      return result;
    }
    if (changed === false) ctx.note('This was requested before; the review is pending.');
    ctx.note(
      'The visibility does not change until another tenant admin, or the only one, approves the request:\n' +
        `  svc review approve ${sanitize(String(id))} --execute`,
    );
    return result;
  },
  examples: {
    '--app pet-shop --visibility public': 'Preview the request',
    "--app pet-shop --visibility internet --note 'for the fair' --execute":
      'Request it; in a folder with svc.yaml --app is optional',
  },
});

export const reviewList = defineCommand({
  words: 'review list',
  summary: 'List publications, promotions and deployments that wait for a review',
  description: 'For tenant admins. Newest first.',
  kind: 'read',
  flags: {
    kind: { type: 'enum', values: reviewKinds, summary: 'Kind of request' },
    status: {
      type: 'enum',
      values: publicationStatuses,
      default: 'pending',
      summary: 'Status',
    },
    app: { type: 'string', placeholder: 'app', summary: 'Only requests of this app, by id or slug' },
    visibility: { type: 'enum', values: publishedVisibilities, summary: 'Visibility after the approval' },
    ...pageFlags,
  },
  endpoint: listReviews,
  input: ({ flags }) => ({ query: flagFields(flags, 'kind', 'status', 'app', 'visibility') }),
  view: reviewView,
  examples: {
    '': 'List pending requests',
    '--kind deployment': 'List deployments that wait',
    '--status rejected --all': 'List all rejected requests',
  },
});

const reviewRead = {
  description:
    'Shows the request, what visitors see now, what they would see, the changed files, and the URL where owners and reviewers ' +
    'can open it. For the owners of the app and tenant admins.',
  kind: 'read',
  ...requestTarget,
  flags: requestFlag,
  endpoint: getReview,
  view: reviewView,
} as const;

export const reviewGet = defineCommand({
  ...reviewRead,
  words: 'review get',
  summary: 'Show one request and what it would change',
  examples: { '01977777-7777-7777-8777-777777777777': 'Show its status, notes and differences' },
});

export const reviewShow = defineCommand({
  ...reviewRead,
  words: 'review show',
  summary: 'Same as svc review get',
  examples: { '01977777-7777-7777-8777-777777777777': 'Show its status, notes and differences' },
});

export const reviewLogs = defineCommand({
  words: 'review logs',
  summary: 'Show the build log of what is reviewed',
  description: 'For the owners of the app, and for tenant admins until the decision.',
  kind: 'read',
  calls: describeCall(readReviewLog),
  positionals: [{ name: 'request', summary: 'Id of the request, from svc review list' }],
  flags: {
    tail: { type: 'integer', min: 1, max: 1_000, placeholder: 'lines', summary: 'Only the last lines' },
  },
  run: async (ctx, { positionals, flags }) => {
    const [{ showLog }, { resolveTenant }] = await Promise.all([
      import('../deploy/logs.ts'),
      import('../session/tenant.ts'),
    ]);
    const source = {
      log: 'review',
      tenantID: await resolveTenant(ctx),
      request: positionals.request,
    } as const;
    return showLog(ctx, source, flags.tail);
  },
  output: async () => (await import('../output/schemas.ts')).logSchema,
  examples: { '01977777-7777-7777-8777-777777777777 --tail 50': 'Show the end of it' },
});

export const reviewHistory = defineCommand({
  words: 'review history',
  summary: 'List past reviews, of one app or the whole tenant',
  description:
    'With --app, all requests of that app, for its owners and tenant admins. Without it, decided and ended requests ' +
    'of the tenant, for tenant admins. Newest first.',
  kind: 'read',
  calls: `${describeCall(listReviews)}, or with --app ${describeCall(listReviewsOfApp)}`,
  flags: {
    app: { type: 'string', placeholder: 'app', summary: 'Only requests of this app, by id or slug' },
    page: { type: 'integer', min: 1, max: 1_000_000, default: 1, summary: 'Page number, from 1' },
    'page-size': {
      type: 'integer',
      min: 1,
      max: perPageMax,
      alias: ['per-page'],
      default: 20,
      summary: 'Entries per page',
    },
    all: { type: 'boolean', excludes: ['page'], winsOver: ['page-size'], summary: 'Fetch all pages' },
  },
  run: async (ctx, { flags }) => {
    const [{ fetchPages }, { resolveTenant }] = await Promise.all([
      import('../session/pages.ts'),
      import('../session/tenant.ts'),
    ]);
    const { app, page, 'page-size': per_page } = flags;
    const pages = flags.all ? 'all' : 'one';
    const tenantID = await resolveTenant(ctx);
    if (app === undefined) {
      // Pending requests are in `svc review list`.
      const input = { params: { tenantID }, query: { page, per_page, status: 'settled' as const } };
      return { value: await fetchPages(ctx, { endpoint: listReviews, input, pages }) };
    }
    const input = { params: { tenantID, app }, query: { page, per_page } };
    return { value: await fetchPages(ctx, { endpoint: listReviewsOfApp, input, pages }) };
  },
  output: async () => (await import('@svc/contract/review.shapes.ts')).listReviews.answer,
  view: reviewView,
  examples: {
    '--app pet-shop': 'List the requests of an app and their results',
    '--page 2 --page-size 50': 'List earlier decisions in the tenant',
  },
});

export const reviewApprove = defineCommand({
  words: 'review approve',
  summary: 'Approve a publication, a promotion or a deployment',
  description:
    'For tenant admins other than the requester, unless the requester is the only admin. A publication widens the ' +
    'visibility; a promotion or a deployment goes live. The approval covers what was requested: another deployment ends ' +
    'the request.',
  kind: 'mutate',
  ...requestTarget,
  flags: { ...requestFlag, note: { type: 'string', summary: 'What you have reviewed' } },
  endpoint: approveReview,
  input: ({ flags }) => ({ body: { note: flags.note } }),
  view: reviewView,
  examples: {
    '01977777-7777-7777-8777-777777777777': 'Preview who would see it',
    "01977777-7777-7777-8777-777777777777 --note 'looks right' --execute": 'Approve it',
  },
});

export const reviewReject = defineCommand({
  words: 'review reject',
  summary: 'Reject a publication, a promotion or a deployment, with a reason',
  description:
    'For tenant admins, and for owners other than the requester. Visitors see what they saw before.',
  kind: 'mutate',
  ...requestTarget,
  flags: { ...requestFlag, reason: { type: 'string', required: true, summary: 'Reason' } },
  endpoint: rejectReview,
  input: ({ flags }) => ({ body: { reason: flags.reason } }),
  view: reviewView,
  examples: {
    "01977777-7777-7777-8777-777777777777 --reason 'the prices are wrong' --execute":
      'Reject it with a reason',
  },
});

export const reviewWithdraw = defineCommand({
  words: 'review withdraw',
  summary: 'Withdraw a request for a review',
  description: 'For the requester and the owners of the app.',
  kind: 'mutate',
  ...requestTarget,
  flags: requestFlag,
  endpoint: withdrawReview,
  view: reviewView,
  examples: { '01977777-7777-7777-8777-777777777777 --execute': 'Withdraw it' },
});
