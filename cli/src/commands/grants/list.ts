import { grantStatuses, listGrants } from '@svc/contract/grants.ts';
import { defineCommand } from '../../define-command.ts';
import { pageFlags } from '../../page-flags.ts';
import { grantView } from '../../views/grant.ts';

export default defineCommand({
  words: 'grants list',
  summary: "List the tenant's grants, newest first",
  kind: 'read',
  flags: {
    status: { type: 'enum', values: grantStatuses, summary: 'Only grants in this status' },
    subject: {
      type: 'string',
      placeholder: 'user',
      summary: 'Only grants of this user, by id or e-mail address',
    },
    connector: {
      type: 'string',
      placeholder: 'connector',
      summary: 'Only grants on this connector, by id or slug',
    },
    policy: {
      type: 'string',
      placeholder: 'policy',
      summary: 'Only grants that name this access policy, by id',
    },
    ...pageFlags,
  },
  endpoint: listGrants,
  input: ({ tenant, flags }) => ({
    params: { tenantID: tenant },
    query: {
      status: flags.status,
      subject_id: flags.subject,
      connector_id: flags.connector,
      policy_id: flags.policy,
      page: flags.page,
      per_page: flags['per-page'],
    },
  }),
  view: grantView,
  examples: [
    { line: 'svc grants list --status active --all', does: 'Every active grant' },
    { line: 'svc grants list --connector warehouse --json', does: 'Who may use one connector' },
  ],
});
