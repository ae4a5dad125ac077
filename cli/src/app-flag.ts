import type { Flags } from './command.ts';

/** For commands about something of an app. */
export const appFlag = {
  app: {
    ...{ type: 'string', placeholder: 'app', required: true, filled: true, manifest: 'app' },
    summary: 'App id or slug',
  },
} as const satisfies Flags;
