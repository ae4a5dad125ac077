import type { Flags } from '../command.ts';
import { installationFlag } from '../git-host/installation-flag.ts';

/** About the repository that is made. */
export const repoFlags = {
  'git-host-owner': {
    type: 'string',
    placeholder: 'account',
    summary: "Whose the repository will be (the installation's account)",
  },
  ...installationFlag,
  'repo-name': { type: 'string', placeholder: 'name', summary: 'Name of the repository (the slug)' },
  'repo-private': { type: 'boolean', default: true, summary: 'Keep the repository private' },
  'repo-public': {
    type: 'boolean',
    excludes: ['repo-private'],
    summary: 'Do not keep the repository private',
  },
} as const satisfies Flags;

export function repoOf(flags: {
  'git-host-owner': string | undefined;
  'installation-id': number | undefined;
  'repo-name': string | undefined;
  'repo-private': boolean;
  'repo-public': boolean | undefined;
}) {
  return {
    git_host_owner: flags['git-host-owner'],
    installation_id: flags['installation-id'],
    repo_name: flags['repo-name'],
    repo_private: flags['repo-private'] && !flags['repo-public'],
  };
}
