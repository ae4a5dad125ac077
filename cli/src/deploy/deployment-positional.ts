import type { Positional } from '../command.ts';

export const deploymentPositional = {
  name: 'deployment-id',
  summary: 'Id of the deployment, as list shows it',
} as const satisfies Positional;
