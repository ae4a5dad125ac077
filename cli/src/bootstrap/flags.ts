import type { Flags } from '../framework/declaration.ts';
import { installationFlag } from '../git-host/flags.ts';

export const repoFlags = {
  'git-host-owner': {
    type: 'string',
    placeholder: 'account',
    summary: "Owner of the new repository (the installation's account)",
  },
  ...installationFlag,
  'repo-name': { type: 'string', placeholder: 'name', summary: 'Name of the new repository (the slug)' },
  'repo-private': { type: 'boolean', default: true, summary: 'Create a private repository' },
  'repo-public': {
    type: 'boolean',
    excludes: ['repo-private'],
    summary: 'Create a public repository',
  },
} as const satisfies Flags;

export function repoFields(flags: {
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

export const watchFlags = {
  watch: { type: 'boolean', summary: 'Show the steps until the run ends' },
  'watch-interval': {
    type: 'duration',
    min: '1s',
    max: '10m',
    requires: ['watch'],
    summary: 'Polling interval (2s)',
  },
  'watch-timeout': {
    type: 'duration',
    min: '1s',
    max: '24h',
    requires: ['watch'],
    summary: 'Stop watching after this time, with exit 10; the run continues (30m)',
  },
} as const satisfies Flags;

export interface WatchOptions {
  intervalMs: number;
  timeoutMs: number;
}

export function watchOptions(flags: {
  watch: boolean | undefined;
  'watch-interval': number | undefined;
  'watch-timeout': number | undefined;
}): WatchOptions | null {
  if (!flags.watch) return null;
  return {
    intervalMs: flags['watch-interval'] ?? 2_000,
    timeoutMs: flags['watch-timeout'] ?? 30 * 60_000,
  };
}
