import {
  beginGitConnection,
  connectGit,
  disconnectGit,
  getGitConnection,
  updateGit,
} from '@svc/contract/git-connections.ts';
import type { Detection } from '@svc/contract/git-host.shapes.ts';
import { detectRepository } from '@svc/contract/git-host.ts';
import type { z } from 'zod';
import { defineCommand, describeCall } from '../../command.ts';
import { bold, type Style, sanitize } from '../../framework/text.ts';
import { approvalFlags, checkApprovalFlags, installationFlag, resumeOptions } from '../../git-host/flags.ts';
import { appFlag } from '../../inputs/common.ts';
import { connectionView, gitStatusView } from '../../views/delivery.ts';

type DetectionResult = z.output<typeof Detection>;

const shownFields = [
  'dir',
  'deploy_method',
  'language',
  'framework',
  'package_manager',
  'install_command',
  'build_command',
  'release_command',
  'start_command',
  'output_dir',
  'dockerfile',
  'compose_file',
] as const;

export const appsDetect = defineCommand({
  words: 'apps detect',
  summary: "Detect a repository's build settings",
  description: 'Reads the repository with your git host account. Nothing in it is run.',
  kind: 'read',
  flags: {
    repo: {
      type: 'string',
      placeholder: 'owner/name',
      excludes: ['owner', 'repo-name'],
      summary: 'Repository',
    },
    owner: {
      type: 'string',
      placeholder: 'account',
      requires: ['repo-name'],
      summary: 'Owner of the repository',
    },
    'repo-name': {
      type: 'string',
      placeholder: 'name',
      requires: ['owner'],
      summary: 'Name of the repository',
    },
    path: { type: 'string', placeholder: 'folder', summary: 'Folder, if the repository holds several apps' },
    ref: {
      type: 'string',
      placeholder: 'ref',
      summary: 'Branch, tag or commit (the default branch)',
    },
  },
  oneRequired: [['repo', 'owner']],
  endpoint: detectRepository,
  input: ({ flags }) => ({
    query: { repo: flags.repo ?? `${flags.owner}/${flags['repo-name']}`, ref: flags.ref, path: flags.path },
  }),
  text: detectionText,
  examples: {
    '--repo acme/shop': 'Show how it would be deployed',
    '--owner acme --repo-name shop --path apps/web --ref main': 'A folder on a branch',
  },
});

function detectionText(found: DetectionResult, style: Style): string {
  const path = found.path === '' ? '' : ` in ${sanitize(found.path)}`;
  const width = Math.max(...shownFields.map((name) => name.length));
  return [
    `${bold(style, sanitize(found.repo))}${path} at ${sanitize(found.ref)} (${found.commit.slice(0, 12)})\n\n`,
    ...shownFields
      .filter((name) => found[name] !== null)
      .map((name) => `${name.padEnd(width)}  ${sanitize(String(found[name]))}\n`),
    ...(found.evidence.length === 0 ? [] : ['\nDetected from:\n']),
    ...found.evidence.map(({ file, says }) => `  ${sanitize(file)}: ${sanitize(says)}\n`),
    ...(found.alternatives.length === 0 ? [] : ['\nAlternatives:\n']),
    ...found.alternatives.map((plan) => `  ${alternativeText(plan)}\n`),
  ].join('');
}

function alternativeText(plan: DetectionResult['alternatives'][number]): string {
  const by = plan.dockerfile ?? plan.compose_file ?? plan.start_command ?? plan.output_dir;
  const words = [
    plan.dir,
    plan.deploy_method,
    plan.framework ?? plan.language,
    by === null ? null : `(${by})`,
  ];
  return words
    .filter((word) => word !== null)
    .map(sanitize)
    .join(' ');
}

export const appsGitConnect = defineCommand({
  words: 'apps git connect',
  summary: 'Connect a repository; a push to its branch then deploys the app',
  description:
    'If your git host account is not linked, the command shows a code that you approve there: on a terminal it waits ' +
    'for the approval, elsewhere it stores the code and exits with 11, and the same line with --resume-last ' +
    'continues. The preview then covers the linking. If the git host app is not installed for the owner of the ' +
    'repository, the command shows the installation URL (exit 11), and svc git-host complete continues. With --direct ' +
    'neither is started: the repository is connected at once, or the command fails. With --create a repository that ' +
    'does not exist is created, private and empty; at the built-in git host the first git push does the same.',
  kind: 'mutate',
  timeoutDefault: '20m',
  calls: `${describeCall(connectGit)}, where an installation is missing ${describeCall(beginGitConnection)}`,
  flags: {
    ...appFlag,
    repo: {
      type: 'string',
      placeholder: 'owner/name',
      requiredUnless: ['create'],
      summary: 'Repository (with --create at the built-in git host: <tenant>/<app>)',
    },
    create: { type: 'boolean', summary: 'Create the repository if it does not exist' },
    branch: { type: 'string', default: 'main', summary: 'Branch whose pushes are deployed' },
    'installation-id': {
      ...installationFlag['installation-id'],
      summary: 'Installation of the owner of the repository (looked up)',
    },
    direct: {
      type: 'boolean',
      alias: ['no-browser'],
      winsOver: ['device-code', 'resume-last', 'wait-approval'],
      summary: 'Connect at once or fail; never ask a person',
    },
    ...approvalFlags,
  },
  check: ({ flags }) => checkApprovalFlags(flags),
  run: async (ctx, { flags }) => {
    const { connectApp } = await import('../../git-host/connect-app.ts');
    return connectApp(ctx, {
      app: flags.app,
      repo: flags.repo,
      branch: flags.branch,
      create: flags.create,
      installationId: flags['installation-id'],
      mode: flags.direct ? 'direct' : 'guided',
      resume: resumeOptions(flags),
    });
  },
  output: async () => (await import('../../output/schemas.ts')).connectSchema,
  examples: {
    '--app pet-shop --repo acme/shop': 'Preview it',
    '--app pet-shop --repo acme/shop --branch release --direct --execute':
      'Connect a branch without questions',
    '--app pet-shop --create --execute': 'Create a repository of the same name and connect it',
  },
});

export const appsGitDisconnect = defineCommand({
  words: 'apps git disconnect',
  summary: 'Disconnect the repository; deployments and repository stay',
  kind: 'mutate',
  flags: appFlag,
  endpoint: disconnectGit,
  examples: { '--app pet-shop --execute': 'Stop deploying on push' },
});

export const appsGitStatus = defineCommand({
  words: 'apps git status',
  summary: 'Show the connected repository, its branch and the last push',
  kind: 'read',
  flags: appFlag,
  endpoint: getGitConnection,
  view: gitStatusView,
  examples: { '--app pet-shop': 'Show where deployments come from' },
});

export const appsGitUpdate = defineCommand({
  words: 'apps git update',
  summary: 'Deploy from another branch',
  kind: 'mutate',
  flags: { ...appFlag, branch: { type: 'string', required: true, summary: 'Branch' } },
  endpoint: updateGit,
  input: ({ flags }) => ({ body: { branch: flags.branch } }),
  view: connectionView,
  finish: async (ctx, result) =>
    (await import('../../git-host/show-code.ts')).printUnchangedNote(ctx, result),
  examples: { '--app pet-shop --branch release --execute': 'Deploy pushes to release' },
});
