export const exposedHeaders = 'ETag, Location, X-Request-Id, Retry-After';

/**
 * Pages of other origins may call the data API and the control plane with a token they hold, upload and read icons,
 * and use signed addresses of objects. No answer ever allows credentials, so a session cookie is worth nothing to them.
 */
const allowed = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': exposedHeaders,
};

export function withCors(path: string, headers: Headers): void {
  if (!isShared(path)) return;
  for (const [name, value] of Object.entries(allowed)) headers.set(name, value);
}

export function preflight(request: Request, path: string): Response | null {
  if (
    request.method !== 'OPTIONS' ||
    !isShared(path) ||
    !request.headers.has('access-control-request-method')
  )
    return null;
  return new Response(null, {
    status: 204,
    headers: {
      ...allowed,
      'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
      'access-control-allow-headers':
        'Authorization, X-Api-Key, Content-Type, Accept, If-Match, If-None-Match, If-Plan, Idempotency-Key, Prefer, Range, If-Range, X-Svc-Sha256, X-Request-Id',
      'access-control-max-age': '7200',
    },
  });
}

function isShared(path: string): boolean {
  return ['/data/', '/api/v1/', '/icons/', '/objects/'].some((shared) => path.startsWith(shared));
}
