import * as fs from 'node:fs';
import { promisify } from 'node:util';
import { unavailable } from './unavailable.ts';

const openFile = promisify(fs.open);
const closeFile = promisify(fs.close);
const statFile = promisify(fs.fstat) as (file: number) => Promise<fs.Stats>;
const chunkBytes = 256 * 1024;

/** Who forgets to read or cancel a body loses nothing but memory, until the next collection. */
const forgotten = new FinalizationRegistry((file: number) => fs.close(file, () => {}));

export interface FileBody {
  body: ReadableStream<Uint8Array>;
  /** Of the whole file. */
  size: number;
}

/** What the path holds now: a file that takes its place later changes nothing here. */
export async function openFileBody(
  path: string,
  { start, end }: { start: number; end: number },
): Promise<FileBody> {
  const file = await openFile(path, 'r');
  try {
    const { size } = await statFile(file);
    return { body: streamOf(file, { start, stop: Math.min(end + 1, size) }), size };
  } catch (error) {
    await closeFile(file);
    throw error;
  }
}

function streamOf(
  file: number,
  { start, stop }: { start: number; stop: number },
): ReadableStream<Uint8Array> {
  let at = start;
  const token = {};
  const close = async () => {
    forgotten.unregister(token);
    await closeFile(file);
  };
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          if (at < stop) {
            const chunk = await read(file, { at, bytes: Math.min(chunkBytes, stop - at) });
            at += chunk.byteLength;
            controller.enqueue(chunk);
          }
          if (at < stop) return;
          await close();
          controller.close();
        } catch (error) {
          await close().catch(() => {});
          controller.error(unavailable(error));
        }
      },
      cancel: close,
    },
    { highWaterMark: 0 },
  );
  forgotten.register(body, file, token);
  return body;
}

async function read(file: number, { at, bytes }: { at: number; bytes: number }): Promise<Uint8Array> {
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
  const buffer = new Uint8Array(bytes);
  fs.read(file, buffer, 0, bytes, at, (error, count) => {
    if (error) reject(error);
    else if (count === 0) reject(new Error('The file of an object was cut.'));
    else resolve(buffer.subarray(0, count));
  });
  return await promise;
}
