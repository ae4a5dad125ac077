import { downloadUrlSecondsDefault, getObjectUrl, signedUrlSecondsMax } from '@svc/contract/storage.ts';
import { appFlag } from '../../../app-flag.ts';
import { defineCommand } from '../../../define-command.ts';

export default defineCommand({
  words: 'apps storage get-url',
  summary: 'Get a signed address from which an object can be downloaded',
  description:
    'Whoever has the address can download the object until it expires, without a login. It ends at once when you ' +
    'may no longer read the object yourself.',
  kind: 'read',
  positionals: [{ name: 'key', summary: 'Key of the object' }],
  flags: {
    ...appFlag,
    'expires-in': {
      type: 'duration',
      min: '1s',
      max: `${signedUrlSecondsMax / 3600}h`,
      summary: `How long it is good (${downloadUrlSecondsDefault / 60}m)`,
    },
  },
  endpoint: getObjectUrl,
  input: ({ tenant, positionals, flags }) => ({
    params: { tenantID: tenant, app: flags.app },
    query: {
      key: positionals.key,
      expires_in: flags['expires-in'] === undefined ? undefined : Math.ceil(flags['expires-in'] / 1000),
    },
  }),
  examples: [
    { line: 'svc apps storage get-url photos/rex.jpg --app pet-shop', does: 'An address for five minutes' },
  ],
});
