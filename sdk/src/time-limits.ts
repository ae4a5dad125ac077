import { SvcNetworkError } from './errors.ts';

export const timeoutMsDefault = 60_000;
/** `fetch` does not report the progress of an upload, so that its limit is for the whole. */
export const uploadMsMax = 10 * 60_000;

export function limitTime(ms: number, signal?: AbortSignal): AbortSignal {
  const limit = AbortSignal.timeout(ms);
  return signal ? AbortSignal.any([signal, limit]) : limit;
}

/** The body fails when nothing arrives for that long while it is read; a slow reader is not counted. */
export function limitSilence(response: Response, ms: number): Response {
  const reader = response.body?.getReader();
  if (!reader) return response;
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      async pull(controller) {
        const timer = setTimeout(() => {
          const error = new SvcNetworkError(`Nothing arrived for ${ms / 1000} seconds.`);
          controller.error(error);
          reader.cancel(error).catch(() => {});
        }, ms);
        try {
          const { done, value } = await reader.read();
          if (done) controller.close();
          else controller.enqueue(value);
        } finally {
          clearTimeout(timer);
        }
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
  return new Response(body, response);
}
