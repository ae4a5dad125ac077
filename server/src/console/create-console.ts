import { consolePrefix } from '@svc/contract/console-paths.ts';
import { encodingOrder } from '../edge/pick-encoding.ts';
import { fail } from '../plumbing/problem.ts';
import type { Handle } from '../plumbing/serve.ts';
import { assetsPrefix, type BuiltConsole, buildConsole, type ConsoleFile } from './build-console.ts';

export interface Console {
  /** Whether the console answers for a path. */
  has(path: string): boolean;
  handle: Handle;
  /** Bundled before the first one asks. */
  prepare(): Promise<void>;
}

/** The pages that people look at: one document for all of their addresses, and what it loads. */
export function createConsole({ sources, baseUrl }: { sources: string; baseUrl: string }): Console {
  let building: Promise<BuiltConsole> | null = null;
  const built = () => {
    building ??= buildConsole(sources).catch((error) => {
      building = null;
      throw error;
    });
    return building;
  };
  const pageHeaders = {
    'cache-control': 'no-cache',
    'content-security-policy': policyOf(baseUrl),
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
  };

  return {
    has: (path) => path === '/' || path.startsWith(consolePrefix) || path.startsWith(assetsPrefix),
    prepare: async () => {
      await built();
    },
    handle: async (request, url, info) => {
      info.setRoute('console');
      if (request.method !== 'GET' && request.method !== 'HEAD') {
        throw fail('method_not_allowed', { headers: { allow: 'GET, HEAD' } });
      }
      const { assets, page } = await built();
      if (!url.pathname.startsWith(assetsPrefix)) return send(request, page, pageHeaders);
      const asset = assets.get(url.pathname);
      if (!asset) throw fail('not_found', { detail: 'No such path.' });
      return send(request, asset, {
        'cache-control': 'public, max-age=31536000, immutable',
        'x-content-type-options': 'nosniff',
      });
    },
  };
}

function send(request: Request, file: ConsoleFile, headers: Record<string, string>): Response {
  // All forms are there, so the best is the first.
  const [encoding = 'identity'] = encodingOrder(request.headers.get('accept-encoding'));
  const bytes = encoding === 'identity' ? file.plain : file[encoding];
  const encoded: Record<string, string> = encoding === 'identity' ? {} : { 'content-encoding': encoding };
  // Said here, since the answer to HEAD has no body to count.
  const said = { 'content-type': file.type, 'content-length': String(bytes.byteLength) };
  return new Response(request.method === 'HEAD' ? null : (bytes as BodyInit), {
    headers: { ...headers, ...encoded, ...said, vary: 'accept-encoding' },
  });
}

/**
 * Scripts come from here alone. Mantine writes style elements of its own, and icons of apps may stand anywhere on the
 * web. Objects and files go to signed addresses, which bear the name that is published.
 */
function policyOf(baseUrl: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' https: http: data: blob:",
    "font-src 'self'",
    `connect-src 'self' ${new URL(baseUrl).origin}`,
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "manifest-src 'self'",
  ].join('; ');
}
