import { purgeApp } from '@svc/contract/app-life.ts';
import { namesReservedDays } from '@svc/contract/apps.ts';
import { appPositional } from '../../app-positional.ts';
import { appPurgedText } from '../../app-purged-text.ts';
import { defineCommand } from '../../define-command.ts';

export default defineCommand({
  words: 'apps purge',
  summary: 'Remove a deleted app and everything of it for good',
  description:
    'The preview says what there is to be lost. Its slug is free at once; its subdomain stays ' +
    `reserved to the tenant for ${namesReservedDays} days.`,
  kind: 'mutate',
  confirm: 'typed',
  positionals: [appPositional],
  endpoint: purgeApp,
  input: ({ tenant, positionals }) => ({ params: { tenantID: tenant, app: positionals.app } }),
  text: appPurgedText,
  examples: [{ line: 'svc apps purge pet-shop --execute --yes', does: 'Purge it without being asked' }],
});
