import { versionPath } from '@svc/contract/limits.ts';
import { manifestJsonSchema } from '@svc/contract/manifest.shapes.ts';
import { manifestSchemaPath } from '@svc/contract/manifest.ts';
import { openApiDocument } from '@svc/contract/openapi.ts';
import { siteConfigJsonSchema } from '@svc/contract/site-config.shapes.ts';
import { siteConfigSchemaPath } from '@svc/contract/site-config.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { fail } from '../core/problem.ts';
import { appAddress } from './client-address.ts';
import type { RequestHandler } from './handlers.ts';
import type { CallerLimit, CountedCaller } from './rate-limit.ts';

export interface PathHandler {
  matches(path: string): boolean;
  route?: string;
  /**
   * The rate limit of a request: by default that of its address. `own`: the handler counts it, or it costs no more than
   * a file.
   */
  limit?: 'own' | ((path: string) => CountedCaller | null);
  handle: RequestHandler;
}

export const at =
  (...paths: string[]) =>
  (path: string) =>
    paths.includes(path);
export const under = (prefix: string) => (path: string) => path.startsWith(prefix);

export function documentAt(path: string, handle: () => Promise<Response>): PathHandler {
  return {
    matches: at(path),
    route: path,
    limit: 'own',
    handle: async (request) => {
      if (request.method !== 'GET' && request.method !== 'HEAD')
        throw fail('method_not_allowed', { headers: { allow: 'GET, HEAD' } });
      return handle();
    },
  };
}

export function createFront(
  handlers: readonly PathHandler[],
  { callerLimit }: { callerLimit?: CallerLimit | undefined },
): RequestHandler {
  return async (request, url, info) => {
    const found = handlers.find((handler) => handler.matches(url.pathname));
    if (!found) throw fail('not_found', { detail: 'No such path.' });
    if (found.route) info.setRoute(found.route);
    const { limit } = found;
    // All apps have one address: an app must not use up what others need to sign people in.
    if (limit !== 'own' && info.clientAddress !== appAddress)
      info.responseHeaders = callerLimit?.(
        limit?.(url.pathname) ?? null,
        () => info.clientAddress,
        'when_low',
      );
    return found.handle(request, url, info);
  };
}

export function platformHandlers({
  baseUrl,
  isReady,
}: {
  baseUrl: string;
  isReady: () => Promise<boolean>;
}): PathHandler[] {
  const document = (path: string, type: string, make: () => unknown) => {
    let text: string | undefined;
    return documentAt(path, async () => {
      text ??= JSON.stringify(make());
      return new Response(text, { headers: { 'content-type': type } });
    });
  };
  return [
    documentAt('/healthz', async () => Response.json({ status: 'ok' })),
    documentAt('/readyz', async () => {
      if (await isReady()) return Response.json({ status: 'ready' });
      throw fail('unavailable', { detail: 'The server is stopping, or the database is not reachable.' });
    }),
    document(versionPath, 'application/json', () => ({ version: packageJson.version })),
    document('/api/v1/openapi.json', 'application/json', () =>
      openApiDocument({ baseUrl, version: packageJson.version }),
    ),
    document(manifestSchemaPath, 'application/schema+json', () => manifestJsonSchema({ baseUrl })),
    document(siteConfigSchemaPath, 'application/schema+json', () => siteConfigJsonSchema({ baseUrl })),
  ];
}
