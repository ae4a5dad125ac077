import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fail } from '../../core/problem.ts';
import { isListening, socketPathBytesMax } from '../../drivers/os/listen.ts';
import type { RequestInfo } from '../../http/handlers.ts';
import { readBody } from '../../http/read-body.ts';
import { clientAddressHeader, forwardedHeader, requestIdHeader } from './web-context.ts';

interface ProviderSocket {
  path: string;
  close(): Promise<void>;
}

const socketName = 'oauth.sock';
const isSocketName = (name: string) => /^oauth(\.\d+)?\.sock$/.test(name);

export async function listenOnSocket(dataDir: string, listener: RequestListener): Promise<ProviderSocket> {
  const { path, temporary } = await findFreePath(dataDir);
  const server = createServer(listener);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, resolve);
  });
  chmodSync(path, 0o600);
  return {
    path,
    async close() {
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
      rmSync(temporary ? dirname(path) : path, { recursive: true, force: true });
    },
  };
}

/** In the data dir, with a name for each process; in a temporary folder when the path is too long or in use. */
async function findFreePath(dataDir: string): Promise<{ path: string; temporary: boolean }> {
  const path = join(dataDir, 'run', `oauth.${process.pid}.sock`);
  const isTaken = existsSync(path) && (await isListening({ path }));
  if (Buffer.byteLength(path) <= socketPathBytesMax && !isTaken) {
    const folder = dirname(path);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    for (const name of readdirSync(folder).filter(isSocketName))
      if (!(await isListening({ path: join(folder, name) }))) rmSync(join(folder, name), { force: true });
    return { path, temporary: false };
  }
  return { path: join(mkdtempSync(join(tmpdir(), 'svc-oauth-')), socketName), temporary: true };
}

const bodyBytesMax = 64 * 1024;
const answerMsMax = 25_000;

/** Request headers that the provider may see. Client address headers are set by us. */
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
/** A reverse proxy sets at least one of these. */
const proxyHeaders = ['x-forwarded-for', 'forwarded'];
const droppedHeaders = ['connection', 'content-length', 'date', 'keep-alive', 'transfer-encoding'];

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
    // PostgreSQL rejects NUL in text.
    if (/%00/.test(url.search) || /%00|\0/.test(Buffer.from(body).toString('latin1'))) {
      throw fail('validation_failed', { detail: 'NUL characters are not allowed.' });
    }
    let answer: Response;
    try {
      answer = await fetch(`http://oauth${url.pathname}${url.search}`, {
        unix: socketPath,
        method: request.method,
        headers,
        body: body.byteLength > 0 ? body : undefined,
        redirect: 'manual',
        decompress: false,
        // A pooled connection may be closed by the provider's idle timeout just as a request is sent on it.
        keepalive: false,
        signal: AbortSignal.timeout(answerMsMax),
      });
    } catch (cause) {
      throw fail('unavailable', { detail: 'The sign-in service does not respond. Try again.' }, { cause });
    }
    if (answer.status === 404 && !/json|html/.test(answer.headers.get('content-type') ?? '')) {
      throw fail('not_found', { detail: 'This path does not exist.' });
    }
    const responseHeaders = new Headers(answer.headers);
    for (const name of droppedHeaders) responseHeaders.delete(name);
    const length = answer.headers.get('content-length');
    // A HEAD response has no body from which the length could be counted.
    if (request.method === 'HEAD' && length !== null) responseHeaders.set('content-length', length);
    return new Response(answer.body, { status: answer.status, headers: responseHeaders });
  };
}
