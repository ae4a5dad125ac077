import { logLinesPerPageMax } from '@svc/contract/deployments.ts';
import type { Flags } from '../command.ts';

export const logFlags = {
  follow: {
    type: 'boolean',
    short: 'f',
    summary: 'Also what comes, as it comes; --json prints one object a line then',
  },
  tail: {
    type: 'integer',
    min: 1,
    max: logLinesPerPageMax,
    placeholder: 'lines',
    summary: 'Begin with the last lines',
  },
} as const satisfies Flags;
