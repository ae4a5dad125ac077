import { listSessions } from '@svc/contract/identity.ts';
import { defineCommand } from '../../define-command.ts';
import { pageFlags } from '../../page-flags.ts';

export default defineCommand({
  words: 'sessions list',
  summary: 'List your own sign-ins: browsers and command-line logins',
  kind: 'read',
  flags: pageFlags,
  endpoint: listSessions,
  input: ({ flags }) => ({ query: { page: flags.page, per_page: flags['per-page'] } }),
  view: { columns: ['id', 'kind', 'client', 'created_at', 'expires_at', 'current'] },
  examples: [{ line: 'svc sessions list', does: 'Where you are signed in' }],
});
