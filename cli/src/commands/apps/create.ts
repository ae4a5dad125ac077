import { createApp } from '@svc/contract/apps.ts';
import { defineCommand } from '../../define-command.ts';
import { appSettingFlags, appSettings, deployMethodFlag } from '../../inputs/app.ts';

export default defineCommand({
  words: 'apps create',
  summary: 'Create an app; you become its owner',
  description:
    'Without --name it is called by its slug, without --slug it gets one made from its name. Flags win over what a file ' +
    'says. --interactive asks for the rest on a terminal. The tenant of a svc.yaml given with --from-file goes before ' +
    'that of the folder.',
  kind: 'mutate',
  flags: {
    name: { type: 'string', summary: 'Name that people see' },
    slug: { type: 'string', placeholder: 'slug', summary: 'Short name for commands and addresses' },
    category: { type: 'string', placeholder: 'category', summary: 'Category slug or id' },
    ...deployMethodFlag,
    ...appSettingFlags,
    'from-file': {
      type: 'string',
      placeholder: 'path',
      summary: 'Take the fields from a YAML or JSON file, svc.yaml among them; - is standard input',
    },
    interactive: { type: 'boolean', summary: 'Ask for each field on the terminal' },
  },
  oneRequired: [['name', 'slug', 'from-file', 'interactive']],
  endpoint: createApp,
  ownTenant: async (ctx, { flags }) =>
    (await import('../../inputs/new-app.ts')).tenantOfFile(ctx, flags['from-file']),
  input: async ({ tenant, flags, ctx }) => {
    const { newAppBody } = await import('../../inputs/new-app.ts');
    const given = {
      ...appSettings(flags),
      slug: flags.slug,
      category: flags.category,
      deploy_method: flags['deploy-method'],
      // An empty one says: none.
      ...(flags.subdomain === '' && { subdomain: null }),
    };
    const file = flags['from-file'];
    const body = await newAppBody(ctx, { given, file, tenant, ask: flags.interactive ? 'all' : 'none' });
    return { params: { tenantID: tenant }, body };
  },
  examples: [
    { line: "svc apps create --name 'Pet Shop' --execute", does: 'An app with the slug pet-shop' },
    { line: 'svc apps create --from-file svc.yaml', does: 'Preview what the file describes' },
  ],
});
