import { deletePreview, getPreview, listPreviews, redeployPreview } from '@svc/contract/previews.ts';
import { defineCommand, deployCredential, objectSchema } from '../command.ts';
import { appFlag, pageFlags } from '../inputs/common.ts';
import { previewView } from '../views/delivery.ts';

const previewPositional = {
  name: 'preview',
  summary: 'Slug of the preview: the part of its host before --',
} as const;

export const previewsList = defineCommand({
  words: 'previews list',
  summary: 'List the previews of branches, newest push first',
  description:
    'A push to a branch that matches previews.branches in the svc.yaml of the connected branch creates a preview: its own ' +
    'host, rows and variables. It is removed with the branch, or when there was no push for previews.ttl.',
  kind: 'read',
  flags: { ...appFlag, ...pageFlags },
  endpoint: listPreviews,
  view: previewView,
  examples: { '--app pet-shop': 'List them with their URLs' },
});

export const previewsShow = defineCommand({
  words: 'previews show',
  summary: 'Show the preview of a branch',
  description: 'Use its id as --app in other commands: svc logs --app <id>, svc deployments list --app <id>.',
  kind: 'read',
  positionals: [previewPositional],
  flags: appFlag,
  endpoint: getPreview,
  view: previewView,
  examples: { 'feature-login --app pet-shop': 'Show its state' },
});

export const previewsOpen = defineCommand({
  words: 'previews open',
  summary: 'Open the preview of a branch in the browser',
  description:
    'The URL is printed, and opened only if standard output is a terminal and there is a browser. Owners and members of ' +
    'the app and tenant admins can see a preview.',
  kind: 'local',
  positionals: [previewPositional],
  flags: { ...appFlag, 'no-browser': { type: 'boolean', summary: 'Only print the URL' } },
  output: objectSchema({
    url: 'string',
    opened: { type: 'boolean', description: 'Whether a browser was opened.' },
  }),
  run: async (ctx, { flags, positionals }) => {
    const [{ requireWebUrl }, { resolveTenant }] = await Promise.all([
      import('../open/address.ts'),
      import('../session/tenant.ts'),
    ]);
    const params = { tenantID: await resolveTenant(ctx), app: flags.app, preview: positionals.preview };
    const url = requireWebUrl((await (await ctx.client()).call(getPreview, { params })).url);
    const canOpen = !flags['no-browser'] && (await ctx.io.isTerminal('stdout'));
    const opened = canOpen && (await ctx.io.openBrowser(url));
    if (opened) ctx.say('The page opens in your browser.');
    return { value: { url, opened }, text: () => `${url}\n` };
  },
  examples: { 'feature-login --app pet-shop': 'Open it' },
});

export const previewsRedeploy = defineCommand({
  words: 'previews redeploy',
  summary: 'Build and deploy the newest commit of the branch again',
  description:
    'For example after svc env set --environment preview. The command waits like svc deploy, with the same exit codes: 9 ' +
    `if it failed, 10 if --timeout passes. ${deployCredential}`,
  kind: 'mutate',
  credential: 'login_or_pat',
  timeoutDefault: '20m',
  positionals: [previewPositional],
  flags: { ...appFlag, detach: { type: 'boolean', summary: 'Do not wait for the deployment' } },
  calls: `${redeployPreview.method} ${redeployPreview.path}`,
  run: async (ctx, { positionals, flags }) => {
    const { redeploy } = await import('../deploy/deploy-app.ts');
    const { preview } = positionals;
    return redeploy(ctx, { app: flags.app, preview, until: flags.detach ? 'started' : 'ended' });
  },
  output: async () => (await import('@svc/contract/previews.shapes.ts')).Preview,
  examples: {
    'feature-login --app pet-shop --execute': 'Deploy it again, and wait',
    'feature-login --app pet-shop --execute --detach': 'Only start it',
  },
});

export const previewsDelete = defineCommand({
  words: 'previews delete',
  summary: 'Remove the preview of a branch with its rows and files',
  description: 'The branch stays, and the next push to it creates the preview again.',
  kind: 'mutate',
  confirm: true,
  positionals: [previewPositional],
  flags: appFlag,
  endpoint: deletePreview,
  deletedId: getPreview,
  examples: { 'feature-login --app pet-shop --execute --yes': 'Remove it without confirmation' },
});
