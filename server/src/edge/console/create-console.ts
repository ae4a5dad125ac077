import { join } from 'node:path';
import { consolePrefix } from '@svc/contract/console-paths.ts';
import { fail } from '../../core/problem.ts';
import { projectRoot } from '../../core/project-root.ts';
import type { RequestHandler } from '../../http/handlers.ts';
import { encodingOrder } from '../sites/pick-encoding.ts';
import { assetsPrefix, type BuiltConsole, buildConsole, type ConsoleFile } from './build-console.ts';

export interface Console {
  has(path: string): boolean;
  handle: RequestHandler;
  prepare(): Promise<void>;
}

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
    'content-security-policy': contentSecurityPolicy(baseUrl),
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
  // Every encoding exists, so the first one is used.
  const [encoding = 'identity'] = encodingOrder(request.headers.get('accept-encoding'));
  const bytes = encoding === 'identity' ? file.plain : file[encoding];
  const encoded: Record<string, string> = encoding === 'identity' ? {} : { 'content-encoding': encoding };
  // Explicit, because a response to HEAD has no body to measure.
  const content = { 'content-type': file.type, 'content-length': String(bytes.byteLength) };
  return new Response(request.method === 'HEAD' ? null : (bytes as BodyInit), {
    headers: { ...headers, ...encoded, ...content, vary: 'accept-encoding' },
  });
}

/** Mantine writes style elements. Icons and signed URLs are at the public base URL. */
function contentSecurityPolicy(baseUrl: string): string {
  const { origin } = new URL(baseUrl);
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self' 'unsafe-inline'",
    `img-src 'self' ${origin} data: blob:`,
    "font-src 'self'",
    `connect-src 'self' ${origin}`,
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "manifest-src 'self'",
  ].join('; ');
}

export const consoleSources = join(projectRoot, 'console');
