import { getBootstrap, startBootstrap } from '@svc/contract/bootstrap.ts';
import { pollGitLink } from '@svc/contract/git-host.ts';
import { repoFlags } from '../../bootstrap/repo-flags.ts';
import { watchFlags, watchOf } from '../../bootstrap/watch-flags.ts';
import { callText } from '../../call-text.ts';
import { defineCommand } from '../../define-command.ts';
import { approvalFlags, checkApprovalFlags, resumeOf } from '../../git-host/approval-flags.ts';

export default defineCommand({
  words: 'apps bootstrap',
  summary: 'Make an app from a template: its record, its repository, its first deployment',
  description:
    'The run goes on at the server by itself; with --watch its steps are shown until it is done, and it exits with 9 where it ' +
    'failed or was canceled, with 10 where --watch-timeout runs out. Where your account at the git host is not linked, a code ' +
    'is shown that you approve there: on a terminal it is waited for, elsewhere it is kept (exit 11), and ' +
    'svc apps bootstrap --resume-last --execute goes on. Without --slug one is made from --name.',
  kind: 'mutate',
  timeoutDefault: '24h',
  calls: `${callText(startBootstrap)}, where a code was approved ${callText(pollGitLink)}, with --watch ${callText(getBootstrap)}`,
  flags: {
    template: {
      type: 'string',
      placeholder: 'template',
      requiredUnless: ['device-code', 'resume-last'],
      summary: 'Template id, or react, nextjs or astro; svc apps templates list shows all',
    },
    slug: { type: 'string', placeholder: 'slug', summary: 'Short name for commands and addresses' },
    name: { type: 'string', summary: 'Name that people see (the slug)' },
    subdomain: { type: 'string', placeholder: 'label', summary: 'Where the app answers (the slug)' },
    ...repoFlags,
    ...watchFlags,
    ...approvalFlags,
  },
  check: ({ flags }) => {
    if (flags.template !== undefined && flags.slug === undefined && flags.name === undefined)
      return 'Give --slug or --name.';
    return checkApprovalFlags(flags);
  },
  run: async (ctx, { flags }) => {
    const [{ bootstrapApp }, { repoOf }] = await Promise.all([
      import('../../bootstrap/bootstrap-app.ts'),
      import('../../bootstrap/repo-flags.ts'),
    ]);
    const { template, slug, name, subdomain } = flags;
    const wish = template === undefined ? null : { template, slug, name, subdomain, ...repoOf(flags) };
    return bootstrapApp(ctx, { wish, resume: resumeOf(flags), watch: watchOf(flags) });
  },
  output: async () => (await import('../../git-host/output-schemas.ts')).bootstrapSchema(),
  examples: [
    { line: 'svc apps bootstrap --template react --slug hello', does: 'See what would be made' },
    {
      line: 'svc apps bootstrap --template react --slug hello --execute --watch',
      does: 'Make it, and wait until it answers',
    },
    {
      line: "svc apps bootstrap --template astro --name 'Our Docs' --repo-name docs --repo-public --execute",
      does: 'With a repository that every member may read',
    },
  ],
});
