import { pollGitLink, startGitLink } from '@svc/contract/git-host.ts';
import { callText } from '../../call-text.ts';
import { defineCommand } from '../../define-command.ts';
import { approvalFlags, checkApprovalFlags, resumeOf } from '../../git-host/approval-flags.ts';

export default defineCommand({
  words: 'git-host link',
  summary: 'Link your account at the git host, by a code that you approve there on any device',
  description:
    'Prints an address and a code. On a terminal it waits until the code is approved. Elsewhere the code is kept and the ' +
    'command exits with 11; --resume-last asks once whether it was approved (0, or 11 while it is not), with --wait-approval ' +
    'for that long (exit 10). A code that expired exits with 6, one that was denied with 4. --json prints the device code, ' +
    'a secret, for --device-code.',
  kind: 'local',
  timeoutDefault: '20m',
  calls: `${callText(startGitLink)}, then ${callText(pollGitLink)}`,
  flags: approvalFlags,
  check: ({ flags }) => checkApprovalFlags(flags),
  run: async (ctx, { flags }) => {
    const { linkAccount } = await import('../../git-host/link-account.ts');
    return linkAccount(ctx, { resume: resumeOf(flags) });
  },
  output: async () => (await import('../../git-host/output-schemas.ts')).linkSchema(),
  examples: [
    { line: 'svc git-host link', does: 'Get a code, and wait where there is a terminal' },
    { line: 'svc git-host link --resume-last --wait-approval 5m', does: 'Wait for the code of before' },
  ],
});
