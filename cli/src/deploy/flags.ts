import { logLinesPerPageMax } from '@svc/contract/deployments.ts';
import type { Flags, Positional } from '../framework/declaration.ts';

export const logFlags = {
  follow: {
    type: 'boolean',
    short: 'f',
    summary: 'Follow the log; --json then prints one object per line',
  },
  tail: {
    type: 'integer',
    min: 1,
    max: logLinesPerPageMax,
    placeholder: 'lines',
    summary: 'Only the last lines',
  },
} as const satisfies Flags;

export const deploymentPositional = {
  name: 'deployment-id',
  summary: 'Id or number of the deployment, or latest',
} as const satisfies Positional;
