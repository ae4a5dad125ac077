import { createHash, timingSafeEqual } from 'node:crypto';
import type { Metrics } from '../core/metrics.ts';
import { Failure, fail, problemResponse } from '../core/problem.ts';
import { documentAt, type PathHandler } from './front.ts';

export interface MetricsConfig {
  /** Null: not served beside the platform. */
  token: string | null;
  /** A listener for metrics only. */
  listener: { host: string; port: number } | null;
}

const path = '/metrics';

export function metricsHandlers(metrics: Metrics, { token }: MetricsConfig): PathHandler[] {
  if (token === null) return [];
  const { handle, ...document } = documentAt(path, () => metricsResponse(metrics));
  return [
    {
      ...document,
      async handle(request, url, info) {
        requireToken(request, token);
        return handle(request, url, info);
      },
    },
  ];
}

/** Requires the token too, if there is one. */
export function listenForMetrics(metrics: Metrics, { token, listener }: MetricsConfig) {
  if (!listener) return null;
  return Bun.serve({
    hostname: listener.host,
    port: listener.port,
    development: false,
    fetch: async (request) => {
      try {
        if (new URL(request.url).pathname !== path) throw fail('not_found');
        if (request.method !== 'GET' && request.method !== 'HEAD')
          throw fail('method_not_allowed', { headers: { allow: 'GET, HEAD' } });
        if (token !== null) requireToken(request, token);
        return await metricsResponse(metrics);
      } catch (error) {
        return problemResponse(error instanceof Failure ? error : fail('internal'), Bun.randomUUIDv7());
      }
    },
  });
}

async function metricsResponse(metrics: Metrics): Promise<Response> {
  return new Response(await metrics.text(), { headers: { 'content-type': metrics.contentType } });
}

function requireToken(request: Request, token: string): void {
  const sent = request.headers.get('authorization') ?? '';
  const hash = (text: string) => createHash('sha256').update(text).digest();
  // Hashes have one length, so that the comparison takes the same time for every token.
  if (timingSafeEqual(hash(sent), hash(`Bearer ${token}`))) return;
  throw fail('unauthenticated', {
    detail: 'Metrics need the token of SVC_METRICS_TOKEN: Authorization: Bearer <token>.',
    headers: { 'www-authenticate': 'Bearer' },
  });
}
