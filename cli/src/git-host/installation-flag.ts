import type { Flags } from '../command.ts';

export const installationFlag = {
  'installation-id': {
    type: 'integer',
    min: 1,
    placeholder: 'id',
    summary: 'Installation of the app of the git host, as svc git-host installations list shows it',
  },
} as const satisfies Flags;
