import { inspectApp, inspectable } from '@svc/contract/inspection.ts';
import { defineCommand } from '../../define-command.ts';
import { inspectionView } from '../../views/inspection.ts';

export default defineCommand({
  words: 'apps inspect',
  summary: 'Read how an app is built, as a tenant admin and under the consent of its owner',
  description: 'Never its rows. Each time is an entry of the ledger, which the owners of the app see.',
  kind: 'mutate',
  positionals: [{ name: 'app', summary: 'App id or slug' }],
  flags: {
    what: { type: 'enum', values: inspectable, required: true, summary: 'What to read' },
    reason: { type: 'string', required: true, summary: 'Why, for the owners of the app' },
  },
  endpoint: inspectApp,
  input: ({ tenant, positionals, flags }) => ({
    params: { tenantID: tenant, app: positionals.app },
    body: { what: flags.what, reason: flags.reason },
  }),
  view: inspectionView,
  examples: [
    {
      line: "svc apps inspect pet-shop --what tables --reason 'yearly review' --execute",
      does: 'The tables of the app with their columns and indexes',
    },
  ],
});
