import { notificationIdsMax, readNotifications } from '@svc/contract/notifications.ts';
import { defineCommand } from '../../define-command.ts';

export default defineCommand({
  words: 'notifications read',
  summary: 'Mark notifications as read',
  kind: 'mutate',
  positionals: [
    {
      name: 'notifications',
      summary: `Their ids, at most ${notificationIdsMax}`,
      optional: true,
      repeated: true,
    },
  ],
  flags: { all: { type: 'boolean', summary: 'All that you were told so far' } },
  oneRequired: [['notifications', 'all']],
  check: ({ flags, positionals }) =>
    flags.all && positionals.notifications.length > 0 ? '--all and ids exclude each other.' : undefined,
  endpoint: readNotifications,
  input: ({ tenant, flags, positionals }) => ({
    params: { tenantID: tenant },
    body: flags.all ? { all: true as const } : { ids: positionals.notifications },
  }),
  examples: [
    { line: 'svc notifications read --all --execute', does: 'You have seen them all' },
    { line: 'svc notifications read 0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c', does: 'See what would change' },
  ],
});
