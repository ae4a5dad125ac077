import type { Flags } from '../command.ts';
import type { Ctx } from '../context.ts';
import { CliError, usage } from '../errors.ts';

export const rowDataFlags = {
  data: { type: 'string', placeholder: 'json', summary: 'Its columns as a JSON object' },
  'from-file': {
    type: 'string',
    placeholder: 'path',
    excludes: ['data'],
    summary: 'File with the JSON object; - reads standard input',
  },
} as const satisfies Flags;

/** The object to the letter as it was given, so that no digit of a number is lost. */
export async function readRowData(
  ctx: Ctx,
  flags: { data?: string | undefined; 'from-file'?: string | undefined },
): Promise<string> {
  const path = flags['from-file'];
  const text = (path === undefined ? (flags.data ?? '') : await readText(ctx, path))
    .replace(/^\uFEFF/, '')
    .trim();
  const from = path === undefined ? '--data' : path === '-' ? 'Standard input' : path;
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

async function readText(ctx: Ctx, path: string): Promise<string> {
  if (path === '-') return ctx.io.readInput();
  try {
    return await Bun.file(path).text();
  } catch (cause) {
    const why = cause instanceof Error && 'code' in cause ? ` (${cause.code})` : '';
    throw new CliError('file_unreadable', `${path} can not be read${why}.`, {
      next: 'Check the path, and that you may read the file.',
      cause,
    });
  }
}
