import { SvcNetworkError } from './errors.ts';

/**
 * Rows of a stream of lines, one at a time, with no more in memory than the piece that has just come. A stream that
 * ends in the middle of a line was cut.
 */
export async function* readJsonLines<Row>(
  body: ReadableStream<Uint8Array>,
): AsyncGenerator<Row, void, undefined> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await readFrom(reader);
      rest += done ? decoder.decode() : decoder.decode(value, { stream: true });
      let start = 0;
      for (let end = rest.indexOf('\n'); end >= 0; end = rest.indexOf('\n', start)) {
        if (end > start) yield rowOf<Row>(rest.slice(start, end));
        start = end + 1;
      }
      rest = rest.slice(start);
      if (!done) continue;
      if (rest !== '') throw cut();
      return;
    }
  } finally {
    // Also when the reader of the rows has had enough: the server need not send the rest.
    await reader.cancel().catch(() => {});
  }
}

async function readFrom(reader: ReadableStreamDefaultReader<Uint8Array>) {
  try {
    return await reader.read();
  } catch (error) {
    if (error instanceof Error && error.name === 'AbortError') throw error;
    throw cut(error);
  }
}

function rowOf<Row>(line: string): Row {
  try {
    return JSON.parse(line);
  } catch (error) {
    throw cut(error);
  }
}

function cut(cause?: unknown): SvcNetworkError {
  return new SvcNetworkError('The stream of rows ended before its end; not all rows have come.', { cause });
}
