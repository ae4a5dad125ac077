import { type AdminCtx, type Result, UsageError } from '../command.ts';

/** One start of the tool for many changes: a hundred users cost a hundred rows, not a hundred programs. */
export async function run(ctx: AdminCtx): Promise<Result> {
  const lines = (await ctx.stdin()).split('\n').filter((line) => line.trim() !== '');
  const commands = lines.map(wordsOf);
  const results: Record<string, unknown>[] = [];
  for (const words of commands) results.push((await ctx.another(words)).json);
  return { json: { results }, text: results.map((result) => `${JSON.stringify(result)}\n`).join('') };
}

function wordsOf(line: string, index: number): string[] {
  const words = parsed(line);
  if (Array.isArray(words) && words.every((word) => typeof word === 'string')) return words;
  throw new UsageError(`Line ${index + 1} is not a JSON array of words.`, 'Write e.g. ["users", "list"].');
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}
