import { detectRepository } from '@svc/contract/git-host.ts';
import { defineCommand } from '../../define-command.ts';
import { detectionText } from '../../git-host/detection-text.ts';

export default defineCommand({
  words: 'apps detect',
  summary: 'How a repository would be built and run, and by which files that is told',
  description: 'Reads the repository with your own account at the git host; nothing of it is run.',
  kind: 'read',
  flags: {
    repo: {
      type: 'string',
      placeholder: 'owner/name',
      excludes: ['owner', 'repo-name'],
      summary: 'The repository',
    },
    owner: {
      type: 'string',
      placeholder: 'account',
      requires: ['repo-name'],
      summary: 'Whose the repository is',
    },
    'repo-name': {
      type: 'string',
      placeholder: 'name',
      requires: ['owner'],
      summary: 'Name of the repository',
    },
    path: { type: 'string', placeholder: 'folder', summary: 'A folder in it, where it holds several apps' },
    ref: {
      type: 'string',
      placeholder: 'ref',
      summary: "A branch, a tag or a commit (the repository's own branch)",
    },
  },
  oneRequired: [['repo', 'owner']],
  endpoint: detectRepository,
  input: ({ tenant, flags }) => ({
    params: { tenantID: tenant },
    query: {
      repo: flags.repo ?? `${flags.owner}/${flags['repo-name']}`,
      ref: flags.ref,
      path: flags.path,
    },
  }),
  text: detectionText,
  examples: [
    { line: 'svc apps detect --repo acme/shop', does: 'How it would be deployed' },
    {
      line: 'svc apps detect --owner acme --repo-name shop --path apps/web --ref main',
      does: 'One folder of a branch',
    },
  ],
});
