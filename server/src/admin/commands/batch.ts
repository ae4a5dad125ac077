import { usageError } from '@svc/cli/framework/errors.ts';
import type { AdminCtx, BatchSystem, Result } from '../command.ts';

export async function runBatch(ctx: AdminCtx): Promise<Result> {
  const results: Record<string, unknown>[] = [];
  const batch: BatchSystem = { system: null, close: async () => {} };
  let count = 0;
  try {
    for await (const line of ctx.stdinLines()) {
      count++;
      if (line.trim() === '') continue;
      const { json } = await ctx.runLine(parseWords(line, count), batch);
      results.push(json);
      ctx.say(`${JSON.stringify(json)}\n`);
    }
  } finally {
    await batch.close();
  }
  return { json: { results }, text: '' };
}

function parseWords(line: string, number: number): string[] {
  const words = parseJson(line);
  if (Array.isArray(words) && words.every((word) => typeof word === 'string')) return words;
  throw usageError(`Line ${number} is not a JSON array of words.`, 'Write for example ["users", "list"].');
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}
