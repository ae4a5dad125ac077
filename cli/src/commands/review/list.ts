import { listPublications, publicationStatuses, publishedVisibilities } from '@svc/contract/review.ts';
import { defineCommand } from '../../define-command.ts';
import { pageFlags } from '../../page-flags.ts';
import { publicationView } from '../../views/publication.ts';

export default defineCommand({
  words: 'review list',
  summary: 'List what waits for a review in the tenant',
  description: 'For tenant admins. The newest first.',
  kind: 'read',
  flags: {
    status: {
      type: 'enum',
      values: publicationStatuses,
      default: 'pending',
      summary: 'How it stands',
    },
    app: { type: 'string', placeholder: 'app', summary: 'Of this app only, by id or slug' },
    visibility: { type: 'enum', values: publishedVisibilities, summary: 'What is asked for' },
    ...pageFlags,
  },
  endpoint: listPublications,
  input: ({ tenant, flags }) => ({
    params: { tenantID: tenant },
    query: {
      ...{ status: flags.status, app: flags.app, visibility: flags.visibility },
      ...{ page: flags.page, per_page: flags['per-page'] },
    },
  }),
  view: publicationView,
  examples: [
    { line: 'svc review list', does: 'What waits to be decided' },
    { line: 'svc review list --status rejected --all', does: 'All that was refused' },
  ],
});
