import { createGrant, scopeEntriesMax } from '@svc/contract/grants.ts';
import { defineCommand } from '../../define-command.ts';
import { grantView } from '../../views/grant.ts';

export default defineCommand({
  words: 'grants create',
  summary: 'Allow a subject to use a connector with a preset, within a scope',
  description:
    'Without --scope the grant reaches the whole connector. --expires-in counts from the moment the command runs, so with --plan give --expires-at.',
  kind: 'mutate',
  flags: {
    subject: {
      type: 'string',
      required: true,
      placeholder: 'user',
      summary: 'Who gets it: user id or e-mail address',
    },
    connector: { type: 'string', required: true, placeholder: 'connector', summary: 'Connector id or slug' },
    preset: {
      type: 'string',
      required: true,
      placeholder: 'preset',
      summary: 'reader, writer, admin or one of your own',
    },
    policy: { type: 'list', placeholder: 'policy', summary: 'Access policy ids' },
    scope: {
      type: 'list',
      placeholder: 'path',
      summary: `schema or schema/table, at most ${scopeEntriesMax}`,
    },
    reason: { type: 'string', summary: 'Why, for those who read it later' },
    'expires-at': { type: 'time', summary: 'When it ends, RFC 3339', excludes: ['expires-in'] },
    'expires-in': { type: 'duration', min: '1s', summary: 'How long it lasts, such as 12h or 30d' },
  },
  endpoint: createGrant,
  input: ({ tenant, flags, now }) => ({
    params: { tenantID: tenant },
    body: {
      subject_id: flags.subject,
      connector_id: flags.connector,
      preset_id: flags.preset,
      policy_ids: flags.policy,
      scope_resource_paths: flags.scope,
      reason: flags.reason,
      expires_at: flags['expires-in'] === undefined ? flags['expires-at'] : after(now, flags['expires-in']),
    },
  }),
  view: grantView,
  examples: [
    {
      line: 'svc grants create --subject ada@example.com --connector warehouse --preset reader --scope sales,hr/people',
      does: 'Preview a grant on one schema and one table',
    },
    {
      line: 'svc grants create --subject ada@example.com --connector warehouse --preset reader --expires-in 30d --execute',
      does: 'Give it for 30 days',
    },
  ],
});

function after(now: Date, ms: number): string {
  return new Date(now.getTime() + ms).toISOString();
}
