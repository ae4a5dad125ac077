import { listMembers } from '@svc/contract/tenants.ts';
import { defineCommand } from '../../define-command.ts';
import { pageFlags } from '../../page-flags.ts';
import { memberView } from '../../views/member.ts';

export default defineCommand({
  words: 'members list',
  summary: 'List the members of the tenant with their roles',
  kind: 'read',
  flags: {
    q: { type: 'string', placeholder: 'text', summary: 'Part of a name or of an e-mail address' },
    ...pageFlags,
  },
  endpoint: listMembers,
  input: ({ tenant, flags }) => ({
    params: { tenantID: tenant },
    query: { q: flags.q, page: flags.page, per_page: flags['per-page'] },
  }),
  view: memberView,
  examples: [{ line: 'svc members list --all', does: 'Everybody' }],
});
