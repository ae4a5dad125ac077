import {
  createDeployment,
  grantSourceUpload,
  readBuildLog,
  sourceBytesMax,
} from '@svc/contract/deployments.ts';
import { appFlag } from '../app-flag.ts';
import { callText } from '../call-text.ts';
import { defineCommand } from '../define-command.ts';

export default defineCommand({
  words: 'deploy',
  summary: 'Build an app and run it, from its connected repository or from a folder',
  description:
    `With --from-dir the folder is packed and sent (at most ${sourceBytesMax / 1024 ** 2} MiB): what .gitignore, .svcignore and ` +
    '.dockerignore name is left out, and so are .git, node_modules and .env files always. What the build says is shown on ' +
    'standard error until the deployment is live. It exits with 9 where the deployment failed, was canceled or skipped (what ' +
    'was live before still is), with 11 where a review is needed first, and with 10 where --timeout runs out; the deployment ' +
    'goes on then, as it does after Ctrl-C.',
  kind: 'mutate',
  calls:
    `${callText(createDeployment)}, with --from-dir before it ${callText(grantSourceUpload)}, ` +
    `then ${callText(readBuildLog)}`,
  timeoutDefault: '20m',
  flags: {
    ...appFlag,
    'from-dir': {
      type: 'string',
      placeholder: 'folder',
      excludes: ['ref'],
      summary: 'A folder with the source, in place of the connected repository',
    },
    ref: {
      type: 'string',
      placeholder: 'ref',
      summary: 'A branch, a tag or a commit of the connected repository (the connected branch)',
    },
    detach: { type: 'boolean', summary: 'Do not wait until it has ended' },
  },
  run: async (ctx, { flags }) => {
    const { deployApp } = await import('../deploy/deploy-app.ts');
    const until = flags.detach ? 'begun' : 'ended';
    return deployApp(ctx, { app: flags.app, fromDir: flags['from-dir'], ref: flags.ref, until });
  },
  output: async () => {
    const { Deployment } = await import('@svc/contract/deployments.shapes.ts');
    return Deployment.toJSONSchema({ io: 'input', unrepresentable: 'any' });
  },
  examples: [
    { line: 'svc deploy --app pet-shop', does: 'See what would be deployed from the connected repository' },
    { line: 'svc deploy --app pet-shop --execute', does: 'Deploy the connected branch' },
    { line: 'svc deploy --app pet-shop --from-dir site --execute', does: 'Deploy a folder' },
  ],
});
