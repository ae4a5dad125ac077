import { deleteApp, deletedAppsKeptDays } from '@svc/contract/app-life.ts';
import { appMoved } from '../../app-moved.ts';
import { appPositional } from '../../app-positional.ts';
import { defineCommand } from '../../define-command.ts';

export default defineCommand({
  words: 'apps delete',
  summary: 'Delete an app; until it is purged it can be restored',
  description:
    'It is served no more, all who are signed in to it are signed out, and everything of it answers 404. Its owners and ' +
    `tenant admins still see its record, and for ${deletedAppsKeptDays} days svc apps restore brings it back; then it is purged.`,
  kind: 'mutate',
  positionals: [appPositional],
  endpoint: deleteApp,
  input: ({ tenant, positionals }) => ({ params: { tenantID: tenant, app: positionals.app } }),
  ...appMoved,
  examples: [
    { line: 'svc apps delete pet-shop', does: 'See what would change' },
    { line: 'svc apps delete pet-shop --execute', does: 'Delete it' },
  ],
});
