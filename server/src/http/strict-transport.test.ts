import { expect, test } from 'bun:test';
import pino from 'pino';
import { createMetrics } from '../core/metrics.ts';
import { fail } from '../core/problem.ts';
import { parseTrustedProxies } from './client-address.ts';
import { strictTransportFor } from './headers.ts';
import { serve } from './serve.ts';

const paths: Record<string, () => Response> = {
  '/own': () => new Response('', { headers: { 'strict-transport-security': 'max-age=60' } }),
  '/none': () => new Response(''),
};

async function headersAt(baseUrl: string): Promise<(string | null)[]> {
  const server = serve({
    host: '127.0.0.1',
    port: 0,
    trustedProxies: parseTrustedProxies(''),
    handle: async (_, { pathname }) => {
      const make = paths[pathname];
      if (!make) throw fail('not_found');
      return make();
    },
    strictTransport: strictTransportFor(baseUrl),
    log: pino({ level: 'silent' }),
    metrics: createMetrics(),
  });
  const found: (string | null)[] = [];
  for (const path of ['/own', '/none', '/missing']) {
    const { headers } = await fetch(`http://127.0.0.1:${server.port}${path}`);
    found.push(headers.get('strict-transport-security'));
  }
  await server.stop(1_000);
  return found;
}

test('a response has the header for https only at an https URL, and a header of its own wins', async () => {
  const value = 'max-age=31536000';
  expect(await headersAt('https://svc.example.test')).toEqual(['max-age=60', value, value]);
  expect(await headersAt('http://svc.example.test')).toEqual(['max-age=60', null, null]);
});
