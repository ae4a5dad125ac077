import { completeGitConnection } from '@svc/contract/git-host.ts';
import { callText } from '../../call-text.ts';
import { defineCommand } from '../../define-command.ts';
import { installationFlag } from '../../git-host/installation-flag.ts';
import { connectionView } from '../../views/git.ts';

export default defineCommand({
  words: 'git-host complete',
  summary: 'Finish a connection that svc apps git connect began and a browser went on with',
  description: 'A state counts once, for who began with it, and for 15 minutes. Nothing is previewed.',
  kind: 'local',
  calls: callText(completeGitConnection),
  flags: {
    state: { type: 'string', placeholder: 'state', required: true, summary: 'What it was begun with' },
    ...installationFlag,
    repo: {
      type: 'string',
      placeholder: 'owner/name',
      summary: 'The repository, where it was not said at the beginning',
    },
    branch: { type: 'string', summary: 'The branch, in place of that of the beginning' },
    // Pages and scripts of before have it in their lines.
    execute: {
      type: 'boolean',
      hidden: true,
      retired: 'there is no preview, it is done without it.',
      summary: 'Do it',
    },
  },
  run: async (ctx, { flags }) => {
    const { resolveTenant } = await import('../../tenant.ts');
    const input = {
      params: { tenantID: await resolveTenant(ctx) },
      body: {
        state: flags.state,
        installation_id: flags['installation-id'],
        repo: flags.repo,
        branch: flags.branch,
      },
    };
    const options = { signal: ctx.signal, idempotencyKey: crypto.randomUUID() };
    return { value: await (await ctx.client()).call(completeGitConnection, input, options) };
  },
  output: async () => {
    const { completeGitConnection: shape } = await import('@svc/contract/git-host.shapes.ts');
    return shape.answer.toJSONSchema({ io: 'input', unrepresentable: 'any' });
  },
  view: connectionView,
  examples: [
    { line: 'svc git-host complete --state a1b2c3', does: 'Connect what was begun' },
    {
      line: 'svc git-host complete --state a1b2c3 --installation-id 42 --repo acme/shop --branch main',
      does: 'And say which repository',
    },
  ],
});
