import { updateApp, visibilities } from '@svc/contract/apps.ts';
import { defineCommand } from '../../define-command.ts';
import { appSettingFlags, appSettings, deployMethodFlag } from '../../inputs/app.ts';
import { refuseNoField } from '../../inputs/refuse-no-field.ts';

export default defineCommand({
  words: 'apps update',
  summary: 'Change what is said of an app; the rest stays',
  description:
    'Visibility can only be narrowed here; svc publish asks for more. The way it is deployed can not change at all.',
  kind: 'mutate',
  positionals: [{ name: 'app', summary: 'App id or slug' }],
  flags: {
    name: { type: 'string', summary: 'Name that people see' },
    ...appSettingFlags,
    'category-id': { type: 'string', placeholder: 'category', summary: 'Category id or slug' },
    'clear-category': { type: 'boolean', winsOver: ['category-id'], summary: 'In no category' },
    'clear-cost-center': { type: 'boolean', winsOver: ['cost-center'], summary: 'No cost center' },
    'clear-subdomain': { type: 'boolean', excludes: ['subdomain'], summary: 'No host below the apps domain' },
    visibility: { type: 'enum', values: visibilities, summary: 'Who it is shown to; narrower only' },
    'deploy-method': { ...deployMethodFlag['deploy-method'], hidden: true },
  },
  // All that are yes or no clear something: no says nothing.
  check: ({ flags }) => refuseNoField(flags, (value) => value !== undefined && value !== false),
  endpoint: updateApp,
  input: ({ tenant, positionals, flags }) => ({
    params: { tenantID: tenant, app: positionals.app },
    body: {
      ...appSettings(flags),
      category_id: flags['clear-category'] ? null : flags['category-id'],
      ...(flags['clear-cost-center'] && { cost_center: null }),
      ...(flags['clear-subdomain'] && { subdomain: null }),
      visibility: flags.visibility,
      deploy_method: flags['deploy-method'],
    },
  }),
  examples: [
    {
      line: "svc apps update pet-shop --summary 'Everything for pets' --execute",
      does: 'Say in a line what it is',
    },
    { line: 'svc apps update pet-shop --visibility private --execute', does: 'Show it to its owners alone' },
    {
      line: 'svc apps update pet-shop --clear-category --resource-tier M',
      does: 'Preview two changes at once',
    },
  ],
});
