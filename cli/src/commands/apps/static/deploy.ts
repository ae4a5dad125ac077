import {
  createRelease,
  finalizeRelease,
  grantUpload,
  releaseVersionCharsMax,
} from '@svc/contract/static-sites.ts';
import { appFlag } from '../../../app-flag.ts';
import { callText } from '../../../call-text.ts';
import { defineCommand } from '../../../define-command.ts';

export default defineCommand({
  words: 'apps static deploy',
  summary: 'Make a release of a folder, and show it as far as the rules allow',
  description:
    'Only files whose content the server does not have are sent. While the app is private the release becomes active at ' +
    'once; beyond the owners it is staged where staging is enabled (exit 0), and shown when it was reviewed; where it is ' +
    'not, it is kept and shown nowhere (exit 11). Links are refused; .git, node_modules, .env and .npmrc files, keys and ' +
    'what editors leave are left out. svc.yaml or svc.json in the folder says under site how it is served, otherwise the ' +
    'svc.yaml above it, then that of where you stand, unless its app.slug is another app. Once stopped, the same command ' +
    'goes on where it stopped.',
  kind: 'mutate',
  calls:
    `${callText(createRelease)}, PUT each missing file to the address it answers, where that has expired ` +
    `${callText(grantUpload)}, then ${callText(finalizeRelease)}`,
  timeoutDefault: '24h',
  flags: {
    ...appFlag,
    'from-dir': {
      type: 'string',
      placeholder: 'folder',
      summary: 'The folder with the built site (static.dir of svc.yaml)',
    },
    'release-version': {
      type: 'string',
      placeholder: 'label',
      summary: `A label for the release, at most ${releaseVersionCharsMax} characters`,
    },
  },
  run: async (ctx, { flags }) => {
    const { deploySite } = await import('../../../static/deploy-site.ts');
    return deploySite(ctx, {
      app: flags.app,
      fromDir: flags['from-dir'],
      version: flags['release-version'],
    });
  },
  output: async () => {
    const { deployedSchema } = await import('../../../static/output-schemas.ts');
    return deployedSchema();
  },
  examples: [
    { line: 'svc apps static deploy --app pet-shop --from-dir site', does: 'See what would happen' },
    {
      line: 'svc apps static deploy --app pet-shop --from-dir site --release-version v1.2 --execute',
      does: 'Deploy it',
    },
  ],
});
