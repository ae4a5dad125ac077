import { describe, expect, test } from 'bun:test';
import { connect } from 'node:net';
import { freePort } from '../scripts/free-port.ts';
import { patientMs } from '../scripts/patience.ts';
import { exchange } from '../server/src/http/raw-http/testing.ts';
import { newTenant } from './support/people.ts';
import { metricsToken, readMetrics, sharedServer, startServer } from './support/server.ts';

describe('every answer', () => {
  test('carries the request id of the request if it is well formed, else a new one', async () => {
    const { baseUrl } = await sharedServer();
    const sent = await fetch(`${baseUrl}/healthz`, { headers: { 'x-request-id': 'client-chosen-0001' } });
    expect(sent.headers.get('x-request-id')).toBe('client-chosen-0001');
    for (const bad of ['with space in it', 'x'.repeat(200), '<script>alert(1)']) {
      const answer = await fetch(`${baseUrl}/nothing`, { headers: { 'x-request-id': bad } });
      expect(answer.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
    }
  });

  test('to a failed request is a problem document with a published code and the request id', async () => {
    const t = await newTenant();
    const answers = await Promise.all([
      t.admin.call('GET', '/api/v1/nothing'),
      t.admin.call('GET', '/nothing'),
      t.admin.call('PATCH', `${t.base}/me/grants`),
      t.admin.call('GET', `${t.base}/grants?colour=red`),
      t.admin.call('GET', `${t.base}/grants?page=0`),
      t.admin.call('GET', `${t.base}/grants?page=1&page=2`),
      t.admin.call('POST', `${t.base}/connectors`, '{"name":'),
      t.admin.call('POST', `${t.base}/connectors`, '{}', { 'content-type': 'text/plain' }),
      t.admin.call('POST', `${t.base}/connectors`, '{}', { 'content-type': 'application/json\t; x' }),
      t.admin.call('GET', '/api/v1/tenants/%E0%A4/me/grants'),
      t.admin.call('POST', `${t.base}/connectors`, JSON.stringify({ name: 'x'.repeat(2_000_000) })),
      t.admin.call('GET', `${t.base}/grants?subject_id=${'x'.repeat(9000)}`),
      t.member.call('GET', `${t.base}/grants`),
    ]);
    const spec = await t.admin.call('GET', '/api/v1/openapi.json');
    const codes: string[] = spec.body.components.schemas.Problem.properties.code.enum;
    for (const answer of answers) {
      expect(answer.headers.get('content-type')).toBe('application/problem+json');
      expect(Object.keys(answer.body).slice(0, 6)).toEqual([
        'type',
        'title',
        'status',
        'detail',
        'code',
        'request_id',
      ]);
      expect(answer.body.status).toBe(answer.status);
      expect(answer.body.request_id).toBe(answer.headers.get('x-request-id'));
      expect(codes).toContain(answer.body.code);
    }
    expect(answers.map(({ status, body }) => `${status} ${body.code}`)).toEqual([
      '404 not_found',
      '404 not_found',
      '405 method_not_allowed',
      '400 unknown_parameter',
      '400 validation_failed',
      '400 validation_failed',
      '400 malformed_json',
      '415 unsupported_media_type',
      '415 unsupported_media_type',
      '400 validation_failed',
      '413 payload_too_large',
      '414 uri_too_long',
      '403 forbidden',
    ]);
  });

  test('to HEAD has the headers of GET, with its content length and no body', async () => {
    const t = await newTenant();
    const paths = ['/healthz', '/api/v1/openapi.json', '/api/v1/me', `${t.base}/grants`, '/api/v1/nothing'];
    for (const path of [...paths, '/oauth/jwks', '/schemas/site.json', '/login']) {
      const get = await t.admin.call('GET', path, undefined, { 'accept-encoding': 'identity' });
      const head = await t.admin.call('HEAD', path, undefined, { 'accept-encoding': 'identity' });
      const facts = ({ status, headers }: typeof get) => [path, status, headers.get('content-length')];
      expect(facts(head)).toEqual(facts(get));
    }
    const answer = await fetch(`${t.server.baseUrl}/api/v1/openapi.json`, { method: 'HEAD' });
    expect([answer.status, await answer.text()]).toEqual([200, '']);
  });

  test('to a head of up to 64 KiB comes from svc: a URL that is too long gets 414', async () => {
    const t = await newTenant();
    for (const length of [9_000, 17_000, 60_000]) {
      const long = await t.admin.call('GET', `${t.base}/grants?subject_id=${'x'.repeat(length)}`);
      expect([length, long.status, long.body.code]).toEqual([length, 414, 'uri_too_long']);
      expect(long.headers.get('x-request-id')).toBe(long.body.request_id);
      const wide = await t.admin.call('GET', '/api/v1/me', undefined, { 'x-more': 'x'.repeat(length) });
      expect([length, wide.status]).toEqual([length, 200]);
    }
  });
});

describe('operating', () => {
  test('probes and the OpenAPI document answer without a login', async () => {
    const { baseUrl } = await sharedServer();
    expect(await (await fetch(`${baseUrl}/healthz`)).json()).toEqual({ status: 'ok' });
    expect((await fetch(`${baseUrl}/readyz`)).status).toBe(200);
    expect((await (await fetch(`${baseUrl}/api/v1/openapi.json`)).json()).openapi).toBe('3.1.0');
  });

  test('metrics answer only to the token of the operator', async () => {
    const server = await sharedServer();
    const { baseUrl } = server;
    expect((await fetch(`${baseUrl}/readyz`)).status).toBe(200);
    const metrics = await readMetrics(server);
    expect(metrics).toContain('svc_http_requests_total{route="/readyz",method="GET",status="200"}');
    expect(metrics).toContain('svc_http_request_seconds_bucket');
    for (const authorization of [
      '',
      'Bearer',
      'Bearer x',
      `Basic ${metricsToken}`,
      `Bearer ${metricsToken}x`,
    ])
      expect([
        authorization,
        (await fetch(`${baseUrl}/metrics`, { headers: { authorization } })).status,
      ]).toEqual([authorization, 401]);
  });

  test('without a token, metrics answer at a port of their own or not at all', async () => {
    const port = freePort();
    const env = { SVC_METRICS_TOKEN: '', SVC_METRICS_PORT: String(port) };
    const { baseUrl } = await startServer({ env });
    expect((await fetch(`${baseUrl}/metrics`)).status).toBe(404);
    const own = await fetch(`http://127.0.0.1:${port}/metrics`);
    expect([own.status, await own.text()]).toEqual([200, expect.stringContaining('svc_http_requests_total')]);
    expect((await fetch(`http://127.0.0.1:${port}/api/v1/me`)).status).toBe(404);
    expect((await fetch(`http://127.0.0.1:${port}/metrics`, { method: 'POST' })).status).toBe(405);
    expect(await statusesOf(port, 'GET http://b.test/metrics HTTP/1.1\r\nHost: a.test\r\n\r\n')).toEqual([
      '400',
    ]);
  });
});

const statusesOf = async (port: number, text: string) =>
  [...(await exchange(port, text)).matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => status);

describe('the listener', () => {
  const request = (path: string, ...fields: string[]) =>
    [`GET ${path} HTTP/1.1`, 'Host: localhost', ...fields, '', ''].join('\r\n');

  test('answers pipelined requests in order, whoever answers them', async () => {
    const { port } = await sharedServer();
    const paths = ['/healthz', '/nothing', '/data/a/b/c', '/healthz', '/data/nothing', '/api/v1/me'];
    const last = request('/readyz', 'Connection: close');
    const statuses = await statusesOf(port, paths.map((path) => request(path)).join('') + last);
    expect(statuses).toEqual(['200', '404', '401', '200', '401', '401', '200']);
  });

  test('refuses an ambiguous request behind others, and closes the connection', async () => {
    const { port } = await sharedServer();
    const post = 'POST /data/a/b/c HTTP/1.1\r\nHost: localhost\r\n';
    for (const refused of [
      request('http://other.test/healthz'),
      `${post}Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}`,
      `${post}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      `${post}Transfer-Encoding: chunked\r\n\r\n0\r\nA: b\r\n\r\n`,
    ])
      for (const before of ['/healthz', '/data/a/b/c']) {
        const [first, ...rest] = await statusesOf(port, request(before) + refused + request('/healthz'));
        expect([refused, before, first !== '400', rest]).toEqual([refused, before, true, ['400']]);
      }
  });
});

describe('with an https base URL', () => {
  test('every answer makes browsers use https only', async () => {
    const { port } = await startServer({ env: { SVC_BASE_URL: 'https://svc.example.test' } });
    const ask = async (host: string, path: string, method = 'GET') =>
      (
        await fetch(`http://127.0.0.1:${port}${path}`, { method, headers: { host }, redirect: 'manual' })
      ).headers.get('strict-transport-security');
    for (const [host, path, method] of [
      ['svc.example.test', '/healthz'],
      ['svc.example.test', '/nothing'],
      ['svc.example.test', '/oauth/jwks'],
      ['svc.example.test', '/data/a/b/c'],
      ['svc.example.test', '/data/a/b/c', 'OPTIONS'],
      ['some.apps.localhost', '/'],
      ['elsewhere.example', '/'],
    ] as const)
      expect([host, path, await ask(host, path, method)]).toEqual([host, path, 'max-age=31536000']);
    const { baseUrl } = await sharedServer();
    expect((await fetch(`${baseUrl}/healthz`)).headers.get('strict-transport-security')).toBeNull();
  });
});

describe('other origins', () => {
  test('may call the data and control planes with a token, never with a cookie', async () => {
    const { baseUrl } = await sharedServer();
    for (const path of ['/data/demo/app/table', '/api/v1/me']) {
      const preflight = await fetch(baseUrl + path, {
        method: 'OPTIONS',
        headers: { origin: 'https://app.example', 'access-control-request-method': 'PATCH' },
      });
      expect([preflight.status, preflight.headers.get('access-control-allow-origin')]).toEqual([204, '*']);
      expect(preflight.headers.get('access-control-allow-headers')).toContain('Authorization');
      expect(preflight.headers.get('access-control-allow-methods')).toContain('PATCH');
      const answer = await fetch(baseUrl + path, { headers: { origin: 'https://app.example' } });
      expect(answer.headers.get('access-control-allow-origin')).toBe('*');
      expect(answer.headers.get('access-control-allow-credentials')).toBeNull();
      expect(answer.headers.get('access-control-expose-headers')).toContain('X-Request-Id');
    }
  });

  test('can read every error of /oauth and /data, also those sent before the OpenID provider runs', async () => {
    const { baseUrl } = await sharedServer();
    const origin = 'https://app.example';
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    const tooLong = 'x'.repeat(9_000);
    const requests: [string, string, RequestInit][] = [
      ['404', '/oauth/nowhere', {}],
      ['404', '/oauth/nowhere', { headers: { accept: 'text/html' } }],
      ['404', '/oauth/token', { method: 'DELETE' }],
      ['405', '/oauth/interaction/x', { method: 'POST' }],
      ['400', '/oauth/token', { method: 'POST', headers: form, body: '' }],
      ['400', '/oauth/token/revocation', { method: 'POST', headers: form, body: 'token=%00' }],
      ['413', '/oauth/token/revocation', { method: 'POST', headers: form, body: 'x'.repeat(100_000) }],
      ['414', `/oauth/token/revocation?x=${tooLong}`, { method: 'POST' }],
      ['401', '/data/demo/app/table', {}],
      ['401', '/data/demo/app/table', { method: 'PUT' }],
      ['401', '/data/nowhere', {}],
      ['414', `/data/demo/app/table?x=${tooLong}`, {}],
    ];
    for (const [status, path, init] of requests) {
      const answer = await fetch(baseUrl + path, { ...init, headers: { ...init.headers, origin } });
      const line = `${init.method ?? 'GET'} ${path.slice(0, 40)}`;
      const allowed = answer.headers.get('access-control-allow-origin');
      expect([line, String(answer.status), ['*', origin].includes(allowed ?? '')]).toEqual([
        line,
        status,
        true,
      ]);
    }
  });
});

describe('idempotency', () => {
  test('the same key and body replay the response, another body gets 422, and one record is created', async () => {
    const t = await newTenant();
    const key = { 'idempotency-key': Bun.randomUUIDv7() };
    const make = (name: string) => t.admin.call('POST', `${t.base}/connectors`, { name, kind: 'http' }, key);
    const [first, again, other] = [await make('one'), await make('one'), await make('two')];
    expect([first.status, again.status, other.status]).toEqual([201, 201, 422]);
    expect(again.body).toEqual(first.body);
    expect(other.body.code).toBe('idempotency_mismatch');
    expect((await t.admin.call('GET', `${t.base}/connectors`)).body.total).toBe(1);
  });

  test('a POST that changes nothing accepts a key as well', async () => {
    const t = await newTenant();
    const made = await t.admin.call('POST', `${t.base}/connectors`, { name: 'one', kind: 'http' });
    const icon = { slug: 'yet-to-be', content_type: 'image/png' };
    const question = { subject_id: t.member.id, connector_id: made.body.id, action: 'read' };
    const questions: [string, object, object][] = [
      ['/apps/icon/upload-url', icon, { ...icon, variant: 'dark' }],
      ['/access/check', question, { ...question, action: 'write' }],
    ];
    for (const [path, body, other] of questions) {
      const key = { 'idempotency-key': Bun.randomUUIDv7() };
      const ask = (asked: object) => t.admin.call('POST', `${t.base}${path}`, asked, key);
      const [first, again, another] = [await ask(body), await ask(body), await ask(other)];
      expect([path, first.status, again.status, again.body]).toEqual([path, 200, 200, first.body]);
      expect([path, another.status, another.body.code]).toEqual([path, 422, 'idempotency_mismatch']);
    }
  });

  test('a key belongs to its caller', async () => {
    const [t, other] = await Promise.all([newTenant(), newTenant()]);
    const key = { 'idempotency-key': Bun.randomUUIDv7() };
    const first = await t.admin.call('POST', `${t.base}/connectors`, { name: 'one', kind: 'http' }, key);
    const second = await other.admin.call(
      'POST',
      `${other.base}/connectors`,
      { name: 'one', kind: 'http' },
      key,
    );
    expect([first.status, second.status]).toEqual([201, 201]);
    expect(second.body.tenant_id).toBe(other.id);
  });
});

describe.concurrent('slow clients', () => {
  test('a body that never arrives gets 408 in time', async () => {
    const t = await newTenant();
    const begun = Date.now();
    const answer = await exchange(
      t.server.port,
      `PUT ${t.base}/grants/${Bun.randomUUIDv7()}/scope HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${t.admin.token}\r\n` +
        'Content-Type: application/json\r\nContent-Length: 100\r\nConnection: close\r\n\r\n[',
    );
    expect(answer.split('\r\n')[0]).toBe('HTTP/1.1 408 Request Timeout');
    expect(answer).toContain('request_timeout');
    expect(Date.now() - begun).toBeLessThan(patientMs(40_000));
  });

  test('a head that arrives byte by byte is cut off, while other requests get responses', async () => {
    const { port, baseUrl } = await sharedServer();
    const begun = Date.now();
    const socket = connect(port, '127.0.0.1');
    await new Promise<void>((resolve) => socket.once('connect', () => resolve()));
    socket.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n');
    const drip = setInterval(() => socket.write('x: y\r\n'), 500);
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    socket.on('error', () => {});
    expect((await fetch(`${baseUrl}/healthz`)).status).toBe(200);
    await closed;
    clearInterval(drip);
    expect(Date.now() - begun).toBeLessThan(patientMs(30_000));
  });
});
