import { createdWithinDaysMax, discoverApps, searchSorts } from '@svc/contract/app-lists.ts';
import { defineCommand } from '../../define-command.ts';
import { pageFlagsWithLimit } from '../../page-flags.ts';
import { appView } from '../../views/app.ts';

export default defineCommand({
  words: 'apps discover',
  summary: 'Look through the apps that are open to you',
  description: 'The catalogue of the tenant: active apps that are shown to more people than their owners.',
  kind: 'read',
  flags: {
    q: {
      type: 'string',
      placeholder: 'words',
      summary: 'Only those with these words; typing errors are forgiven',
    },
    category: { type: 'string', placeholder: 'category', summary: 'Category slug or id' },
    'created-within-days': {
      type: 'integer',
      placeholder: 'days',
      min: 1,
      max: createdWithinDaysMax,
      summary: 'Only those made in the last days',
    },
    sort: { type: 'enum', values: searchSorts, summary: 'Order (relevance with --q, otherwise -created_at)' },
    ...pageFlagsWithLimit,
  },
  endpoint: discoverApps,
  input: ({ tenant, flags }) => ({
    params: { tenantID: tenant },
    query: {
      page: flags.page,
      per_page: flags['per-page'],
      limit: flags.limit,
      q: flags.q,
      category: flags.category,
      created_within_days: flags['created-within-days'],
      sort: flags.sort,
    },
  }),
  view: appView,
  examples: [
    { line: 'svc apps discover --category tools --created-within-days 30', does: 'New tools' },
    { line: "svc apps discover --q 'expense report'", does: 'By words' },
  ],
});
