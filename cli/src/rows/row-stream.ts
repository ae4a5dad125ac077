import { jsonLinesMediaType } from '@svc/contract/rows.ts';
import type { Ctx } from '../context.ts';
import { CliError } from '../errors.ts';
import type { QueryPair, RowsClient } from '../rows-client.ts';

/** A server that sends nothing for so long has gone. */
const silentMsMax = 60_000;
const newline = 10;

/** Whole lines of the rows that fit, as the server sends them; ends only when they are all there. */
export async function* rowStream(
  ctx: Ctx,
  rows: RowsClient,
  query: readonly QueryPair[],
): AsyncGenerator<Uint8Array> {
  const response = await rows.open({ query, headers: { accept: jsonLinesMediaType } });
  const reader = (response.body ?? new Blob([]).stream()).getReader();
  let last: number | undefined = newline;
  try {
    for (;;) {
      const { done, value } = await withinTime(reader.read()).catch((cause) => {
        throw ctx.signal.aborted ? ctx.signal.reason : brokenOff(cause);
      });
      if (done) break;
      last = value.at(-1) ?? last;
      yield value;
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
  // Behind a proxy that ends what was cut, half a row is all there is to see of it.
  if (last !== newline) throw brokenOff();
}

function brokenOff(cause?: unknown): CliError {
  return new CliError('no_connection', 'The rows broke off before their end.', {
    next: 'Try again; what was written so far is not all of it.',
    cause,
  });
}

async function withinTime<T>(work: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error('Nothing came any more.')), silentMsMax);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** The lines of a stream, without their ends. */
export async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string[]> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of chunks) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    if (lines.length > 0) yield lines;
  }
}

export function countLines(chunk: Uint8Array): number {
  let lines = 0;
  for (let at = chunk.indexOf(newline); at !== -1; at = chunk.indexOf(newline, at + 1)) lines += 1;
  return lines;
}
