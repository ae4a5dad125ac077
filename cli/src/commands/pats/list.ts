import { listPats } from '@svc/contract/identity.ts';
import { defineCommand } from '../../define-command.ts';
import { pageFlags } from '../../page-flags.ts';
import { patView } from '../../views/pat.ts';

export default defineCommand({
  words: 'pats list',
  summary: 'List your personal access tokens',
  kind: 'read',
  flags: {
    everyone: { type: 'boolean', summary: "Everybody's; tenant admins only" },
    ...pageFlags,
  },
  endpoint: listPats,
  input: ({ tenant, flags }) => ({
    params: { tenantID: tenant },
    query: {
      all: flags.everyone ? ('true' as const) : undefined,
      page: flags.page,
      per_page: flags['per-page'],
    },
  }),
  view: patView,
  examples: [{ line: 'svc pats list', does: 'Your tokens, without their secrets' }],
});
