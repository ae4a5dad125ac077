import { listNotifications } from '@svc/contract/notifications.ts';
import { defineCommand } from '../../define-command.ts';
import { pageFlags } from '../../page-flags.ts';

export default defineCommand({
  words: 'notifications list',
  summary: 'List what you were told, newest first',
  kind: 'read',
  flags: {
    unread: { type: 'boolean', summary: 'Only what you have not read' },
    cursor: {
      type: 'string',
      placeholder: 'cursor',
      summary: 'Continue after next_cursor of the page before',
    },
    'per-page': pageFlags['per-page'],
    all: { type: 'boolean', excludes: ['cursor'], summary: 'Every page' },
  },
  endpoint: listNotifications,
  input: ({ tenant, flags }) => ({
    params: { tenantID: tenant },
    query: {
      unread: flags.unread ? ('true' as const) : undefined,
      cursor: flags.cursor,
      per_page: flags['per-page'],
    },
  }),
  view: { columns: ['id', 'created_at', 'kind', 'app_slug', 'title', 'read_at'] },
  examples: [{ line: 'svc notifications list --unread', does: 'What is new' }],
});
