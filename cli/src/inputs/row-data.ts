import { batchBytesMax } from '@svc/contract/rows.ts';
import type { Flags } from '../command.ts';
import type { Ctx } from '../context.ts';
import { CliError, usage } from '../errors.ts';
import { inputName, readInputText } from './input-text.ts';

export const rowDataFlags = {
  data: { type: 'string', placeholder: 'json', summary: 'Its columns as a JSON object' },
  'from-file': {
    type: 'string',
    placeholder: 'path',
    excludes: ['data'],
    summary: 'File with the JSON object; - reads standard input',
  },
} as const satisfies Flags;

/**
 * The object to the letter as it was given, so that no digit of a number is lost. How large a row may be is the server's to say;
 * here only what is held is bounded.
 */
export async function readRowData(
  ctx: Ctx,
  flags: { data?: string | undefined; 'from-file'?: string | undefined },
): Promise<string> {
  const path = flags['from-file'];
  const text = (
    path === undefined ? (flags.data ?? '') : await readInputText(ctx, path, { bytesMax: batchBytesMax })
  )
    .replace(/^\uFEFF/, '')
    .trim();
  const from = path === undefined ? '--data' : inputName(path);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    const several = text.includes('\n') ? 'For a file of many rows there is svc rows import.' : undefined;
    throw new CliError('usage', `${from} is not a JSON object.`, { next: several, cause });
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return text;
  throw usage(`${from} is not a JSON object.`, 'For many rows there is svc rows import.');
}
