import type { Flags } from './framework/declaration.ts';

export const outputFormats = ['table', 'wide', 'json', 'jsonl', 'yaml', 'csv'] as const;
/** `wide` is a table with all columns and exact times. */
export type OutputFormat = Exclude<(typeof outputFormats)[number], 'wide'>;

export const timeoutMsDefault = 60_000;

export const globalFlags = {
  tenant: {
    type: 'string',
    placeholder: 'tenant',
    filled: true,
    summary: 'Tenant slug or id; otherwise the one in svc.yaml, or the active tenant',
    env: 'SVC_TENANT',
  },
  profile: {
    type: 'string',
    placeholder: 'name',
    filled: true,
    summary: 'Profile with its own server and login',
    env: 'SVC_PROFILE',
  },
  timeout: {
    type: 'duration',
    min: '1ms',
    max: '24d',
    summary: `Time limit of the command (${timeoutMsDefault / 1000}s; longer for commands that wait)`,
  },
  yes: { type: 'boolean', short: 'y', summary: 'Answer questions with yes' },
  json: { type: 'boolean', summary: 'Same as --output json' },
  output: { type: 'enum', values: outputFormats, short: 'o', summary: 'Output format' },
  columns: {
    type: 'list',
    placeholder: 'name',
    filled: true,
    summary: 'Columns of a table, fields of a record, or columns of CSV',
  },
  'no-headers': { type: 'boolean', summary: 'Omit the header line of a table or of CSV' },
  jq: {
    type: 'string',
    placeholder: 'expression',
    filled: true,
    summary: 'Print what a jq expression selects from the JSON output; strings without quotes',
  },
  quiet: { type: 'boolean', summary: 'Hide notes and progress' },
  verbose: { type: 'boolean', summary: 'Show each request' },
  version: { type: 'boolean', summary: 'Print the version' },
  help: { type: 'boolean', short: 'h', summary: 'Print help' },
} as const satisfies Flags;

export function requestedFormat(argv: readonly string[]): OutputFormat {
  if (argv.some((token) => /^--(?:json(?:=true)?|jq(?:=.*)?)$/s.test(token))) return 'json';
  for (const [at, token] of argv.entries()) {
    const value =
      /^(?:--output=|-o=?)(.+)$/.exec(token)?.[1] ??
      (/^(?:--output|-o)$/.test(token) ? argv[at + 1] : undefined);
    const format = outputFormats.find((known) => known === value);
    if (format !== undefined) return format === 'wide' ? 'table' : format;
  }
  return 'table';
}
