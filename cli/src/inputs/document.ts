import type { Ctx } from '../context.ts';
import { CliError, usage } from '../errors.ts';

/** The object in a YAML or JSON file; `-` is standard input, no path an empty object. */
export async function readDocument(ctx: Ctx, path: string | undefined): Promise<Record<string, unknown>> {
  if (path === undefined) return {};
  const text = path === '-' ? await ctx.io.readInput() : await readText(path);
  const data = await parse(text, path);
  if (typeof data === 'object' && data !== null && !Array.isArray(data))
    return data as Record<string, unknown>;
  throw usage(`${path} does not hold an object of fields.`);
}

async function readText(path: string): Promise<string> {
  try {
    return await Bun.file(path).text();
  } catch (cause) {
    const why = cause instanceof Error && 'code' in cause ? ` (${cause.code})` : '';
    throw new CliError('file_unreadable', `${path} can not be read${why}.`, { cause });
  }
}

/** YAML is only loaded for what is not JSON already. */
async function parse(text: string, path: string): Promise<unknown> {
  try {
    return JSON.parse(text);
  } catch {
    const { parseDocument } = await import('yaml');
    const document = parseDocument(text);
    const [error] = document.errors;
    if (error !== undefined) throw usage(`${path} is neither JSON nor YAML: ${error.message.split('\n')[0]}`);
    return document.toJS();
  }
}
