import { searchApps, searchSorts } from '@svc/contract/app-lists.ts';
import { deploymentStatuses, visibilities } from '@svc/contract/apps.ts';
import { anyOfSummary } from '../../any-of-summary.ts';
import { defineCommand } from '../../define-command.ts';
import { pageFlagsWithLimit } from '../../page-flags.ts';
import { appView } from '../../views/app.ts';

export default defineCommand({
  words: 'apps search',
  summary: 'Search the apps that you can see; typing errors are forgiven',
  kind: 'read',
  positionals: [{ name: 'query', summary: 'Words of its name, slug, summary or description' }],
  flags: {
    category: { type: 'string', placeholder: 'category', summary: 'Category slug or id' },
    status: { type: 'enum', values: deploymentStatuses, summary: 'Deployment status' },
    'status-in': {
      type: 'list',
      values: deploymentStatuses,
      summary: anyOfSummary('deployment statuses', 'status'),
    },
    visibility: { type: 'enum', values: visibilities, summary: 'Who it is shown to' },
    sort: { type: 'enum', values: searchSorts, summary: 'Order (relevance)' },
    cursor: {
      type: 'string',
      placeholder: 'cursor',
      excludes: ['page', 'all'],
      summary: 'Go on from next_cursor of the page before',
    },
    ...pageFlagsWithLimit,
  },
  endpoint: searchApps,
  input: ({ tenant, positionals, flags }) => ({
    params: { tenantID: tenant },
    query: {
      q: positionals.query,
      page: flags.page,
      per_page: flags['per-page'],
      limit: flags.limit,
      cursor: flags.cursor,
      category: flags.category,
      status: flags.status,
      status_in: flags['status-in']?.join(','),
      visibility: flags.visibility,
      sort: flags.sort,
    },
  }),
  view: appView,
  examples: [
    { line: "svc apps search 'pet shp'", does: 'Finds Pet Shop as well' },
    { line: 'svc apps search invoices --status deployed --limit 5', does: 'The five best that are deployed' },
  ],
});
