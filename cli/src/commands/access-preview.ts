import { previewAccess, previewVia } from '@svc/contract/access-preview.ts';
import { previewText } from '../access/preview-text.ts';
import { defineCommand } from '../command.ts';
import { readDocument } from '../inputs/document.ts';
import { policyBody } from '../inputs/policy.ts';

export const accessPreview = defineCommand({
  words: 'access preview',
  summary: 'Show what a person sees of a table, and why',
  description:
    'Shows which columns are clear, masked or hidden and by which policy, the filter in words, how many of all rows are visible, ' +
    'and five rows as the person sees them, as far as you may see them yourself. For admins; owners preview the tables of ' +
    'their app or connector, and everybody their own access. --policy-file tries a policy without saving it: one with the ' +
    'id or name of a stored policy in its place, a new one as if the grants of the person named it.',
  kind: 'read',
  flags: {
    as: { type: 'string', placeholder: 'user', summary: 'User id or e-mail address (yourself)' },
    connector: {
      type: 'string',
      placeholder: 'connector',
      requires: ['resource-path'],
      excludes: ['app'],
      summary: 'Connector id or slug',
    },
    'resource-path': {
      type: 'string',
      placeholder: 'path',
      requires: ['connector'],
      summary: 'schema/table',
    },
    app: { type: 'string', placeholder: 'app', requires: ['table'], summary: 'App id or slug' },
    table: { type: 'string', placeholder: 'table', requires: ['app'], summary: 'Table of the app' },
    via: {
      type: 'enum',
      values: previewVia,
      summary: 'For a table of an app: as seen in the app, or in the console and on the command line (app)',
    },
    'policy-file': {
      type: 'string',
      placeholder: 'path',
      summary: 'YAML or JSON of a policy to try; - reads standard input',
    },
  },
  oneRequired: [['connector', 'app']],
  endpoint: previewAccess,
  input: async ({ flags, ctx }) => {
    const file = await readDocument(ctx, flags['policy-file']);
    const { id } = file;
    const policy = { ...policyBody({}, file), ...(typeof id === 'string' && { id }) };
    return {
      body: {
        as: flags.as,
        connector: flags.connector,
        resource_path: flags['resource-path'],
        app: flags.app,
        table: flags.table,
        via: flags.via,
        ...(flags['policy-file'] !== undefined && { policy }),
      },
    };
  },
  text: previewText,
  examples: {
    '--as ada@example.com --connector warehouse --resource-path sales/orders': 'What Ada sees of a table',
    '--as ada@example.com --connector warehouse --resource-path sales/orders --policy-file policy.yaml':
      'What she would see with a changed policy',
    '--as ada@example.com --app lunch --table orders': 'What she sees inside an app',
    '--connector warehouse --resource-path sales/orders': 'Why do I see nothing?',
  },
});
