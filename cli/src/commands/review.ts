import { perPageMax } from '@svc/contract/limits.ts';
import {
  approvePublication,
  getPublication,
  listPublications,
  listPublicationsOfApp,
  publicationStatuses,
  publishedVisibilities,
  rejectPublication,
  requestPublication,
  withdrawPublication,
} from '@svc/contract/review.ts';
import { defineCommand, describeCall } from '../command.ts';
import type { Flags } from '../framework/declaration.ts';
import { sanitize } from '../framework/text.ts';
import { appFlag, flagFields, pageFlags } from '../inputs/common.ts';
import { publicationView } from '../views/apps.ts';

const requestFlag = {
  'request-id': {
    type: 'string',
    placeholder: 'id',
    alias: ['request_id'],
    summary: 'Same as <request>',
  },
} as const satisfies Flags;

const requestTarget = {
  positionals: [{ name: 'request', optional: true, summary: 'Id of the request, from svc publish' }],
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
  settle: async (ctx, result) => {
    if (ctx.mutation.mode !== 'execute') return result;
    const { id, changed } = Object(result.value) as { id?: unknown; changed?: unknown };
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
  summary: 'List requests to publish that wait for a review',
  description: 'For tenant admins. Newest first.',
  kind: 'read',
  flags: {
    status: {
      type: 'enum',
      values: publicationStatuses,
      default: 'pending',
      summary: 'Status',
    },
    app: { type: 'string', placeholder: 'app', summary: 'Only requests of this app, by id or slug' },
    visibility: { type: 'enum', values: publishedVisibilities, summary: 'Requested visibility' },
    ...pageFlags,
  },
  endpoint: listPublications,
  input: ({ flags }) => ({ query: flagFields(flags, 'status', 'app', 'visibility') }),
  view: publicationView,
  examples: {
    '': 'List pending requests',
    '--status rejected --all': 'List all rejected requests',
  },
});

export const reviewGet = defineCommand({
  words: 'review get',
  summary: 'Show one request to publish an app',
  description: 'For the requester, the owners of the app and tenant admins.',
  kind: 'read',
  ...requestTarget,
  flags: requestFlag,
  endpoint: getPublication,
  view: publicationView,
  examples: { '01977777-7777-7777-8777-777777777777': 'Show its status and notes' },
});

export const reviewHistory = defineCommand({
  words: 'review history',
  summary: 'List past requests to publish, of one app or the whole tenant',
  description:
    'With --app, all requests of that app, for its owners and tenant admins. Without it, decided and ended requests ' +
    'of the tenant, for tenant admins. Newest first.',
  kind: 'read',
  calls: `${describeCall(listPublications)}, or with --app ${describeCall(listPublicationsOfApp)}`,
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
      return { value: await fetchPages(ctx, { endpoint: listPublications, input, pages }) };
    }
    const input = { params: { tenantID, app }, query: { page, per_page } };
    return { value: await fetchPages(ctx, { endpoint: listPublicationsOfApp, input, pages }) };
  },
  output: async () => (await import('@svc/contract/review.shapes.ts')).listPublications.answer,
  view: publicationView,
  examples: {
    '--app pet-shop': 'List the requests of an app and their results',
    '--page 2 --page-size 50': 'List earlier decisions in the tenant',
  },
});

export const reviewApprove = defineCommand({
  words: 'review approve',
  summary: 'Approve a request to publish an app, and apply its visibility',
  description:
    'For tenant admins other than the requester, unless the requester is the only admin. The approval covers what was ' +
    'deployed at the time of the request: another deployment ends the request.',
  kind: 'mutate',
  ...requestTarget,
  flags: { ...requestFlag, note: { type: 'string', summary: 'What you have reviewed' } },
  endpoint: approvePublication,
  input: ({ flags }) => ({ body: { note: flags.note } }),
  view: publicationView,
  examples: {
    '01977777-7777-7777-8777-777777777777': 'Preview who would see it',
    "01977777-7777-7777-8777-777777777777 --note 'looks right' --execute": 'Approve it',
  },
});

export const reviewReject = defineCommand({
  words: 'review reject',
  summary: 'Reject a request to publish an app, with a reason',
  description:
    'For tenant admins, and for owners other than the requester. The visibility of the app does not change.',
  kind: 'mutate',
  ...requestTarget,
  flags: { ...requestFlag, reason: { type: 'string', required: true, summary: 'Reason' } },
  endpoint: rejectPublication,
  input: ({ flags }) => ({ body: { reason: flags.reason } }),
  view: publicationView,
  examples: {
    "01977777-7777-7777-8777-777777777777 --reason 'the prices are wrong' --execute":
      'Reject it with a reason',
  },
});

export const reviewWithdraw = defineCommand({
  words: 'review withdraw',
  summary: 'Withdraw a request to publish',
  description: 'For the requester and the owners of the app.',
  kind: 'mutate',
  ...requestTarget,
  flags: requestFlag,
  endpoint: withdrawPublication,
  view: publicationView,
  examples: { '01977777-7777-7777-8777-777777777777 --execute': 'Withdraw it' },
});
