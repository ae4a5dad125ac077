import { getApp } from '@svc/contract/apps.ts';
import { defineCommand } from '../../define-command.ts';
import { oneAppView } from '../../views/app.ts';

export default defineCommand({
  words: 'apps get',
  summary: 'Show one app',
  kind: 'read',
  positionals: [{ name: 'app', summary: 'App id or slug' }],
  endpoint: getApp,
  input: ({ tenant, positionals }) => ({ params: { tenantID: tenant, app: positionals.app } }),
  view: oneAppView,
  examples: [{ line: 'svc apps get pet-shop', does: 'By its slug' }],
});
