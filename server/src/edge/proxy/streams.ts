export interface WatchedStream {
  stream: ReadableStream<Uint8Array>;
  /** Something of it has been taken: it can not be sent a second time. */
  hasBegun(): boolean;
}

/** Piece by piece, as the other side takes them; `piece` hears of each, `ended` once, however it ends. */
export function watchedStream(
  body: ReadableStream<Uint8Array>,
  watch: { piece(bytes: number): void; ended(how: 'whole' | 'broken' | 'cancelled'): void },
): WatchedStream {
  let reader: ReadableStreamDefaultReader<Uint8Array> | null = null;
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        reader ??= body.getReader();
        try {
          const { done, value } = await reader.read();
          if (done) {
            watch.ended('whole');
            controller.close();
          } else {
            watch.piece(value.length);
            controller.enqueue(value);
          }
        } catch (error) {
          watch.ended('broken');
          controller.error(error);
        }
      },
      async cancel(reason) {
        watch.ended('cancelled');
        await (reader ?? body).cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
  return { stream, hasBegun: () => reader !== null };
}
