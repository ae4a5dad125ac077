import { type AdminCtx, type Result, UsageError } from '../command.ts';

/**
 * One start of the tool for many changes: a hundred users cost a hundred rows, not a hundred programs. Another program
 * can keep it open, write a line, and read the answer before it writes the next.
 */
export async function run(ctx: AdminCtx): Promise<Result> {
  const results: Record<string, unknown>[] = [];
  let count = 0;
  for await (const line of ctx.stdinLines()) {
    count++;
    if (line.trim() === '') continue;
    const { json } = await ctx.another(wordsOf(line, count));
    results.push(json);
    ctx.say(`${JSON.stringify(json)}\n`);
  }
  return { json: { results }, text: '' };
}

function wordsOf(line: string, number: number): string[] {
  const words = parsed(line);
  if (Array.isArray(words) && words.every((word) => typeof word === 'string')) return words;
  throw new UsageError(`Line ${number} is not a JSON array of words.`, 'Write e.g. ["users", "list"].');
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}
