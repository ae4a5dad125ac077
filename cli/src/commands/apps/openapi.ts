import { getAppDocument } from '@svc/contract/apps.ts';
import { defineCommand } from '../../define-command.ts';

export default defineCommand({
  words: 'apps openapi',
  summary: 'Print the OpenAPI document of the tables of an app that you can reach',
  description: 'OpenAPI 3.1, for generators of clients and for tools that try an API out.',
  kind: 'read',
  positionals: [{ name: 'app', summary: 'App id or slug' }],
  endpoint: getAppDocument,
  input: ({ tenant, positionals }) => ({ params: { tenantID: tenant, app: positionals.app } }),
  text: (document) => `${JSON.stringify(document, null, 2)}\n`,
  examples: [
    { line: 'svc apps openapi pet-shop', does: 'To keep in a file: … > openapi.json' },
    { line: 'svc apps openapi pet-shop -o yaml', does: 'The same as YAML' },
  ],
});
