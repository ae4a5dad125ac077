import { SvcNetworkError } from './errors.ts';

/** A stream that ends in the middle of a line was truncated. */
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
        if (end > start) yield parseRow<Row>(rest.slice(start, end));
        start = end + 1;
      }
      rest = rest.slice(start);
      if (!done) continue;
      if (rest !== '') throw truncatedError();
      return;
    }
  } finally {
    // Cancel also when the consumer stops early, so that the server stops sending.
    await reader.cancel().catch(() => {});
  }
}

async function readFrom(reader: ReadableStreamDefaultReader<Uint8Array>) {
  try {
    return await reader.read();
  } catch (error) {
    if (error instanceof Error && error.name === 'AbortError') throw error;
    throw truncatedError(error);
  }
}

function parseRow<Row>(line: string): Row {
  try {
    return JSON.parse(line);
  } catch (error) {
    throw truncatedError(error);
  }
}

function truncatedError(cause?: unknown): SvcNetworkError {
  return new SvcNetworkError('The stream of rows was cut off; not all rows were received.', { cause });
}
