import { createHash, timingSafeEqual } from 'node:crypto';
import type { Logger } from 'pino';
import type { Metrics } from '../core/metrics.ts';
import { fail } from '../core/problem.ts';
import type { Edge } from './edge-request.ts';
import { documentAt, type PathHandler } from './front.ts';
import { listenRaw } from './raw-http/raw-listener.ts';

export interface MetricsConfig {
  token: string | null;
  listener: { host: string; port: number } | null;
}

type PublishedMetrics = Pick<Metrics, 'text' | 'contentType'>;

const path = '/metrics';

export function publishedMetrics(
  metrics: Metrics,
  supervisor: { readMetrics(): Promise<string> } | null,
): PublishedMetrics {
  return supervisor ? { text: supervisor.readMetrics, contentType: metrics.contentType } : metrics;
}

export function metricsHandlers(metrics: PublishedMetrics, { token }: MetricsConfig): PathHandler[] {
  if (token === null) return [];
  const { handle, ...document } = documentAt(path, () => metricsResponse(metrics));
  return [
    {
      ...document,
      async handle(request, url, info) {
        requireToken(request.headers.get('authorization'), token);
        return handle(request, url, info);
      },
    },
  ];
}

export function listenForMetrics(
  metrics: PublishedMetrics,
  { token, listener }: MetricsConfig,
  { log, descriptor }: { log: Logger; descriptor: number | undefined },
) {
  if (!listener) return null;
  const edge: Edge = {
    serves: () => true,
    async answer(request) {
      if (request.path !== path) throw fail('not_found');
      if (token !== null) requireToken(request.header('authorization'), token);
      const headers = { 'content-type': metrics.contentType };
      return { status: 200, headers, body: Buffer.from(await metrics.text()) };
    },
  };
  return listenRaw({
    ...listener,
    descriptor,
    edge: () => edge,
    trustedProxies: { includes: () => false },
    passThroughClients: null,
    log,
  });
}

async function metricsResponse(metrics: PublishedMetrics): Promise<Response> {
  return new Response(await metrics.text(), { headers: { 'content-type': metrics.contentType } });
}

function requireToken(sent: string | null, token: string): void {
  const hash = (text: string) => createHash('sha256').update(text).digest();
  // Hashes have one length, so that the comparison takes the same time for every token.
  if (timingSafeEqual(hash(sent ?? ''), hash(`Bearer ${token}`))) return;
  throw fail('unauthenticated', {
    detail: 'Metrics need the token of SVC_METRICS_TOKEN: Authorization: Bearer <token>.',
    headers: { 'www-authenticate': 'Bearer' },
  });
}
