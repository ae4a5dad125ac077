import type { RequestInfo } from '../plumbing/api.ts';
import { fail } from '../plumbing/problem.ts';
import { readBody } from '../plumbing/read-body.ts';
import { clientAddressHeader, forwardedHeader, requestIdHeader } from './web-context.ts';

const bodyBytesMax = 64 * 1024;
const answerMsMax = 25_000;

/** What the provider may see of a request. Everything else, and above all what says where it came from, is ours. */
const forwardedHeaders = [
  'accept',
  'accept-language',
  'access-control-request-headers',
  'access-control-request-method',
  'authorization',
  'content-type',
  'cookie',
  'origin',
  'sec-fetch-site',
  'user-agent',
];
/** A reverse proxy leaves at least one of these. */
const proxyHeaders = ['x-forwarded-for', 'forwarded'];
/** These are about the connection to the socket. */
const droppedHeaders = ['connection', 'content-length', 'date', 'keep-alive', 'transfer-encoding'];

/** Passes requests on to the handler behind the socket. */
export function forwardTo(
  socketPath: string,
  baseUrl: string,
): (request: Request, url: URL, info: RequestInfo) => Promise<Response> {
  const { host, protocol } = new URL(baseUrl);
  return async (request, url, info) => {
    const headers = new Headers({
      'x-forwarded-host': host,
      'x-forwarded-proto': protocol.slice(0, -1),
      [clientAddressHeader]: info.clientAddress,
      [requestIdHeader]: info.requestId,
    });
    if (proxyHeaders.some((name) => request.headers.has(name))) headers.set(forwardedHeader, 'yes');
    for (const name of forwardedHeaders) {
      const value = request.headers.get(name);
      if (value !== null) headers.set(name, value);
    }
    const body = await readBody(request, { bytesMax: bodyBytesMax });
    // The database takes no NUL, and nothing that is asked for here has one.
    if (/%00/.test(url.search) || /%00|\0/.test(Buffer.from(body).toString('latin1'))) {
      throw fail('validation_failed', { detail: 'A NUL character is not taken here.' });
    }
    let answer: Response;
    try {
      answer = await fetch(`http://oauth${url.pathname}${url.search}`, {
        unix: socketPath,
        method: request.method,
        headers,
        ...(body.byteLength > 0 ? { body } : {}),
        redirect: 'manual',
        decompress: false,
        signal: AbortSignal.timeout(answerMsMax),
      });
    } catch (cause) {
      throw fail('unavailable', { detail: 'The sign-in service does not answer; try again.' }, { cause });
    }
    if (answer.status === 404 && !/json|html/.test(answer.headers.get('content-type') ?? '')) {
      throw fail('not_found', { detail: 'No such path.' });
    }
    const answered = new Headers(answer.headers);
    for (const name of droppedHeaders) answered.delete(name);
    const length = answer.headers.get('content-length');
    // To HEAD no body comes that could be counted.
    if (request.method === 'HEAD' && length !== null) answered.set('content-length', length);
    return new Response(answer.body, { status: answer.status, headers: answered });
  };
}
