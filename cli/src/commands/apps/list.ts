import { listApps, searchSorts } from '@svc/contract/app-lists.ts';
import { deploymentStatuses, operatingStatuses, visibilities } from '@svc/contract/apps.ts';
import { anyOfSummary } from '../../any-of-summary.ts';
import { defineCommand } from '../../define-command.ts';
import { pageFlags } from '../../page-flags.ts';
import { appView } from '../../views/app.ts';

export default defineCommand({
  words: 'apps list',
  summary: 'List the apps that you can see',
  kind: 'read',
  flags: {
    q: {
      type: 'string',
      placeholder: 'words',
      summary: 'Only those with these words; typing errors are forgiven',
    },
    'category-id': { type: 'string', placeholder: 'category', summary: 'Category id or slug' },
    status: { type: 'enum', values: deploymentStatuses, summary: 'Deployment status' },
    'operating-status': { type: 'enum', values: operatingStatuses, summary: 'Operating status' },
    'operating-status-in': {
      type: 'list',
      values: operatingStatuses,
      summary: anyOfSummary('operating statuses', 'operating-status'),
    },
    'review-status': {
      type: 'string',
      placeholder: 'status',
      summary: 'Status of the latest request to publish',
    },
    'review-status-in': {
      type: 'list',
      placeholder: 'status',
      summary: anyOfSummary('review statuses', 'review-status'),
    },
    visibility: { type: 'enum', values: visibilities, summary: 'Who it is shown to' },
    deleted: { type: 'boolean', summary: 'The deleted ones instead that you can restore or purge' },
    sort: {
      type: 'enum',
      values: searchSorts,
      summary: 'Order; a dash turns it round (relevance with --q, otherwise slug)',
    },
    cursor: {
      type: 'string',
      placeholder: 'cursor',
      excludes: ['page', 'all'],
      summary: 'Go on from next_cursor, which survives apps that come and go',
    },
    ...pageFlags,
  },
  endpoint: listApps,
  input: ({ tenant, flags }) => ({
    params: { tenantID: tenant },
    query: {
      page: flags.page,
      per_page: flags['per-page'],
      cursor: flags.cursor,
      q: flags.q,
      category_id: flags['category-id'],
      status: flags.status,
      operating_status: flags['operating-status'],
      operating_status_in: flags['operating-status-in']?.join(','),
      review_status: flags['review-status'],
      review_status_in: flags['review-status-in']?.join(','),
      visibility: flags.visibility,
      ...(flags.deleted && { deleted: 'true' as const }),
      sort: flags.sort,
    },
  }),
  view: appView,
  examples: [
    { line: 'svc apps list --all', does: 'Every app that you can see' },
    {
      line: 'svc apps list --operating-status-in live,dev --sort -updated_at',
      does: 'What is in use, the latest first',
    },
  ],
});
