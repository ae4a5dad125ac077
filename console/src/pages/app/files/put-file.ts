import { answerError, ProblemError, UnexpectedAnswerError } from '@svc/contract/client.ts';
import { sleep } from '../../../api/sleep.ts';

interface PutOptions {
  headers?: Readonly<Record<string, string>>;
  signal: AbortSignal;
  onProgress: (bytes: number) => void;
}

/** Uses XMLHttpRequest because `fetch` reports no upload progress. */
export function putFile(url: string, file: Blob, options: PutOptions): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const { headers = { 'content-type': 'application/octet-stream' }, signal, onProgress } = options;
  const request = new XMLHttpRequest();
  const abort = () => request.abort();
  request.upload.onprogress = ({ loaded }) => onProgress(loaded);
  request.onload = () => (request.status < 300 ? resolve() : reject(uploadError(request)));
  request.onerror = () => reject(new TypeError('The connection was lost.'));
  request.onabort = () => reject(signal.reason ?? new DOMException('Stopped', 'AbortError'));
  request.open('PUT', url);
  for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
  if (signal.aborted) return Promise.reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  request.send(file);
  return promise.finally(() => signal.removeEventListener('abort', abort));
}

/** The URL is a secret and must not appear in the message. */
function uploadError(request: XMLHttpRequest): Error {
  const { status, responseText } = request;
  const header = (name: string) => request.getResponseHeader(name) ?? '';
  const response = new Response(null, {
    status,
    headers: { 'retry-after': header('retry-after'), 'x-request-id': header('x-request-id') },
  });
  try {
    return answerError(response, 'The file storage', JSON.parse(responseText));
  } catch {
    return new UnexpectedAnswerError(status, 'The file storage', header('x-request-id') || null);
  }
}

const triesMax = 4;

export async function putFileWithRetries(url: string, file: Blob, options: PutOptions): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await putFile(url, file, options);
    } catch (error) {
      if (options.signal.aborted || tries >= triesMax || !isTransient(error)) throw error;
      options.onProgress(0);
      await sleep(retryDelayMs(error, tries), options.signal);
    }
  }
}

function isTransient(error: unknown): boolean {
  if (error instanceof ProblemError) return [408, 429, 503].includes(error.problem.status);
  return error instanceof TypeError || (error instanceof UnexpectedAnswerError && error.status >= 502);
}

function retryDelayMs(error: unknown, tries: number): number {
  const retryAfter = error instanceof ProblemError ? error.retryAfterSeconds : null;
  return retryAfter === null ? 250 * 2 ** tries : Math.min(retryAfter, 30) * 1_000;
}
