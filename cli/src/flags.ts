import type { Command, Flags } from './command.ts';

export const outputFormats = ['table', 'json', 'jsonl', 'yaml'] as const;
export type OutputFormat = (typeof outputFormats)[number];

/** Taken by every command, anywhere on the line. A command's own flag of the same name hides one. */
export const globalFlags = {
  tenant: {
    type: 'string',
    placeholder: 'tenant',
    summary: 'Tenant slug or id; the active tenant otherwise',
    env: 'SVC_TENANT',
  },
  profile: {
    type: 'string',
    placeholder: 'name',
    summary: 'Profile with its own server and login',
    env: 'SVC_PROFILE',
  },
  timeout: { type: 'duration', min: '1ms', max: '24d', summary: 'Longest time the command may take (60s)' },
  yes: { type: 'boolean', short: 'y', summary: 'Answer questions with yes' },
  json: { type: 'boolean', summary: 'Same as --output json' },
  output: { type: 'enum', values: outputFormats, short: 'o', summary: 'Format of the result' },
  quiet: { type: 'boolean', summary: 'No notes and no progress' },
  verbose: { type: 'boolean', summary: 'Show each request' },
  version: { type: 'boolean', summary: 'Print the version' },
  help: { type: 'boolean', short: 'h', summary: 'Print help' },
} as const satisfies Flags;

/** Added to every command that changes the platform; `mutation.ts` alone reads them. */
export const mutationFlags = {
  execute: { type: 'boolean', summary: 'Do it; without this the command only previews' },
  'dry-run': { type: 'boolean', summary: 'Preview, which is what happens anyway (default true)' },
  plan: {
    type: 'string',
    placeholder: 'fingerprint',
    summary: 'With --execute: refuse if the preview no longer holds',
  },
} as const satisfies Flags;

/** The flags of a command beyond the global ones. */
export function flagsOf(command: Command): Flags {
  return command.kind === 'mutate' ? { ...command.flags, ...mutationFlags } : (command.flags ?? {});
}

/** Everything the command's line may hold. */
export function allFlagsOf(command: Command): Flags {
  return { ...globalFlags, ...flagsOf(command) };
}
