import { join } from 'node:path';
import { explorerPrefix } from '@svc/contract/console-paths.ts';
import { fail } from '../../core/problem.ts';
import { projectRoot } from '../../core/project-root.ts';
import type { RequestHandler } from '../../http/handlers.ts';

/** One file with everything that the explorer needs: nothing is loaded from elsewhere. */
const scriptFile = join(projectRoot, 'server/vendor/scalar/api-reference-1.72.1.js.gz');
const scriptPath = `${explorerPrefix}reference.js`;
const startPath = `${explorerPrefix}start.js`;

export function createExplorer({ baseUrl }: { baseUrl: string }): RequestHandler {
  const pageHeaders = {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-cache',
    'content-security-policy': contentSecurityPolicy(baseUrl),
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
  };
  return async (request, url, info) => {
    info.setRoute('explorer');
    if (request.method !== 'GET' && request.method !== 'HEAD')
      throw fail('method_not_allowed', { headers: { allow: 'GET, HEAD' } });
    const { pathname } = url;
    if (pathname === startPath) return new Response(startScript, { headers: scriptHeaders });
    if (pathname === scriptPath) {
      const file = Bun.file(scriptFile);
      if (/\bgzip\b/.test(request.headers.get('accept-encoding') ?? ''))
        return new Response(file, { headers: { ...scriptHeaders, 'content-encoding': 'gzip' } });
      return new Response(Bun.gunzipSync(await file.bytes()), { headers: scriptHeaders });
    }
    const [tenant, app, ...more] = pathname.slice(explorerPrefix.length).split('/');
    if (!tenant || !app || more.length > 0) throw fail('not_found', { detail: 'No such path.' });
    return new Response(page, { headers: pageHeaders });
  };
}

const scriptHeaders = {
  'content-type': 'text/javascript; charset=utf-8',
  'cache-control': 'no-cache',
  vary: 'accept-encoding',
  'x-content-type-options': 'nosniff',
};

const page = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>API explorer</title></head>
<body><main id="explorer"></main><script src="${scriptPath}"></script><script src="${startPath}"></script></body>
</html>
`;

/** Names come from the path and are escaped: the page itself is the same for all apps. */
const startScript = `const [tenant, app] = location.pathname.slice(${JSON.stringify(explorerPrefix)}.length).split('/');
Scalar.createApiReference('#explorer', {
  url: '/api/v1/tenants/' + tenant + '/apps/' + app + '/openapi.json',
  // Nothing from elsewhere: no fonts, no proxy, no other services.
  withDefaultFonts: false,
  proxyUrl: '',
  telemetry: false,
  hideClientButton: true,
  showDeveloperTools: 'never',
  agent: { disabled: true },
  mcp: { disabled: true },
  persistAuth: false,
});
`;

/** The explorer writes style elements. */
function contentSecurityPolicy(baseUrl: string): string {
  const { origin } = new URL(baseUrl);
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data: blob:",
    "font-src 'self' data:",
    `connect-src 'self' ${origin}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}
