import { answerError, ProblemError, UnexpectedAnswerError } from '@svc/contract/client.ts';

export interface PutOptions {
  headers?: Readonly<Record<string, string>>;
  signal: AbortSignal;
  /** How many bytes are on their way, of this try. */
  onProgress: (bytes: number) => void;
}

/** Sends one file to a signed address. By XMLHttpRequest: `fetch` does not tell how far it has come. */
export function putFile(url: string, file: Blob, options: PutOptions): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const { headers = { 'content-type': 'application/octet-stream' }, signal, onProgress } = options;
  const request = new XMLHttpRequest();
  const abort = () => request.abort();
  request.upload.onprogress = ({ loaded }) => onProgress(loaded);
  request.onload = () => (request.status < 300 ? resolve() : reject(refusalOf(request)));
  request.onerror = () => reject(new TypeError('The connection was lost.'));
  request.onabort = () => reject(signal.reason ?? new DOMException('Stopped', 'AbortError'));
  request.open('PUT', url);
  for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
  if (signal.aborted) return Promise.reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  request.send(file);
  return promise.finally(() => signal.removeEventListener('abort', abort));
}

/** The address is a secret, so no message names it. */
function refusalOf(request: XMLHttpRequest): Error {
  const { status, responseText } = request;
  const header = (name: string) => request.getResponseHeader(name) ?? '';
  const response = new Response(null, {
    status,
    headers: { 'retry-after': header('retry-after'), 'x-request-id': header('x-request-id') },
  });
  try {
    return answerError(response, 'The place for files', JSON.parse(responseText));
  } catch {
    return new UnexpectedAnswerError(status, 'The place for files', header('x-request-id') || null);
  }
}

const triesMax = 4;

/** Again when the line breaks or others come first; what was refused for good is not. */
export async function putFilePatiently(url: string, file: Blob, options: PutOptions): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await putFile(url, file, options);
    } catch (error) {
      if (options.signal.aborted || tries >= triesMax || !passes(error)) throw error;
      options.onProgress(0);
      await pause(waitMs(error, tries), options.signal);
    }
  }
}

function passes(error: unknown): boolean {
  if (error instanceof ProblemError) return [408, 429, 503].includes(error.problem.status);
  return error instanceof TypeError || (error instanceof UnexpectedAnswerError && error.status >= 502);
}

function waitMs(error: unknown, tries: number): number {
  const asked = error instanceof ProblemError ? error.retryAfterSeconds : null;
  return asked === null ? 250 * 2 ** tries : Math.min(asked, 30) * 1_000;
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  signal.addEventListener('abort', () => {
    clearTimeout(timer);
    resolve();
  });
  return promise;
}
