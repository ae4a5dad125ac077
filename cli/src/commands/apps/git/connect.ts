import { beginGitConnection, connectGit } from '@svc/contract/git-connections.ts';
import { appFlag } from '../../../app-flag.ts';
import { callText } from '../../../call-text.ts';
import { defineCommand } from '../../../define-command.ts';
import { approvalFlags, checkApprovalFlags, resumeOf } from '../../../git-host/approval-flags.ts';
import { installationFlag } from '../../../git-host/installation-flag.ts';

export default defineCommand({
  words: 'apps git connect',
  summary: 'Connect a repository: from now on a push to its branch deploys the app',
  description:
    'Where your account at the git host is not linked yet, a code is shown that you approve there: on a terminal it is ' +
    'waited for, elsewhere it is kept and the command exits with 11, and the same line with --resume-last goes on; the ' +
    'preview is that of the linking then. Where the app of the git host is not installed for the owner of the repository, the address is shown at which it is (exit 11), and ' +
    'svc git-host complete goes on. With --direct neither is begun: it is connected at once, or refused.',
  kind: 'mutate',
  timeoutDefault: '20m',
  calls: `${callText(connectGit)}, where an installation is missing ${callText(beginGitConnection)}`,
  flags: {
    ...appFlag,
    repo: { type: 'string', placeholder: 'owner/name', required: true, summary: 'The repository' },
    branch: { type: 'string', default: 'main', summary: 'Pushes to this branch are deployed' },
    'installation-id': {
      ...installationFlag['installation-id'],
      summary: 'Installation of the owner of the repository; looked up otherwise',
    },
    direct: {
      type: 'boolean',
      alias: ['no-browser'],
      winsOver: ['device-code', 'resume-last', 'wait-approval'],
      summary: 'Connect at once or not at all; nothing is left to a person',
    },
    ...approvalFlags,
  },
  check: ({ flags }) => checkApprovalFlags(flags),
  run: async (ctx, { flags }) => {
    const { connectApp } = await import('../../../git-host/connect-app.ts');
    return connectApp(ctx, {
      ...{ app: flags.app, repo: flags.repo, branch: flags.branch },
      installationId: flags['installation-id'],
      mode: flags.direct ? 'direct' : 'guided',
      resume: resumeOf(flags),
    });
  },
  output: async () => (await import('../../../git-host/output-schemas.ts')).connectSchema(),
  examples: [
    { line: 'svc apps git connect --app pet-shop --repo acme/shop', does: 'See what would change' },
    {
      line: 'svc apps git connect --app pet-shop --repo acme/shop --branch release --direct --execute',
      does: 'Connect a branch, without being asked anything',
    },
  ],
});
