import type { Flags, Positional } from '../command.ts';

/** By position; earlier lines had a flag for it, with an underscore. */
export const requestPositional = [
  { name: 'request', optional: true, summary: 'Id of the request, as svc publish prints it' },
] as const satisfies readonly Positional[];

export const requestFlag = {
  'request-id': {
    type: 'string',
    placeholder: 'id',
    alias: ['request_id'],
    summary: 'The same as <request>',
  },
} as const satisfies Flags;

export const requestRequired = [['request', 'request-id']] as const;

interface Given {
  flags: { 'request-id'?: string | undefined };
  positionals: { request?: string | undefined };
}

export function checkRequest({ flags, positionals }: Given): string | undefined {
  return flags['request-id'] !== undefined && positionals.request !== undefined
    ? '<request> and --request-id exclude each other; give one of them.'
    : undefined;
}

export function requestOf({ flags, positionals }: Given): string {
  return positionals.request ?? flags['request-id'] ?? '';
}
