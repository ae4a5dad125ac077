import { describe, expect, test } from 'bun:test';
import { connectClient, exchange } from '../../../http/raw-http/testing.ts';
import { appHost, startApp, startProxy, startRawApp } from './testing.ts';

describe('a proxied request', () => {
  test('has the method, path, query, host and headers as sent, and the client address', async () => {
    await using app = startApp(async (request) =>
      Response.json({
        method: request.method,
        url: new URL(request.url).pathname + new URL(request.url).search,
        headers: Object.fromEntries(request.headers),
        body: await request.text(),
      }),
    );
    await using proxy = startProxy({ addresses: [app.address] });
    const answer = await proxy.fetch('/a%20b/c?x=1&y=%2F', {
      method: 'PATCH',
      body: 'hello',
      headers: { 'x-mine': '1', cookie: 'a=1; __Host-svc_site=secret; b=2', 'x-request-id': 'mine-1' },
    });
    const received = await answer.json();
    expect(answer.headers.get('x-request-id')).toBe('mine-1');
    expect(received).toMatchObject({ method: 'PATCH', url: '/a%20b/c?x=1&y=%2F', body: 'hello' });
    expect(received.headers).toMatchObject({
      host: appHost,
      'x-mine': '1',
      cookie: 'a=1; b=2',
      'content-length': '5',
      'x-request-id': 'mine-1',
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-proto': 'http',
      'x-forwarded-host': appHost,
    });
  });

  test.each([
    ['X-Svc-User: forged'],
    ['x_svc_user: forged'],
    ['X-SVC-Anything: forged'],
    ['X-Forwarded-For: forged'],
    ['X_Forwarded_Proto: forged'],
    ['Forwarded: for=forged'],
    ['X-Real-Ip: forged'],
    ['Connection: close, x-secret\r\nX-Secret: forged'],
    ['Proxy-Authorization: forged'],
    ['TE: forged'],
    ['Keep-Alive: forged'],
    ['Upgrade: forged'],
  ])('does not have %p', async (lines) => {
    await using app = await startRawApp(() => 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    await using proxy = startProxy({
      addresses: [app.address],
      person: { userId: 'u1', email: 'e', name: 'n', relation: 'none' },
    });
    const close = lines.startsWith('Connection') ? '' : 'Connection: close\r\n';
    await exchange(proxy.port, `GET / HTTP/1.1\r\nHost: ${appHost}\r\n${lines}\r\n${close}\r\n`);
    expect(app.heads.at(-1)).not.toContain('forged');
    expect(app.heads.at(-1)?.toLowerCase()).toContain('x-svc-user: token-of-u1\r\n');
  });

  test("has the platform's headers even if Connection names them", async () => {
    await using app = await startRawApp(() => 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    await using proxy = startProxy({
      addresses: [app.address],
      person: { userId: 'u1', email: 'e', name: 'n', relation: 'none' },
    });
    const named = 'Connection: close, x-svc-user, x-forwarded-for';
    await exchange(
      proxy.port,
      `POST / HTTP/1.1\r\nHost: ${appHost}\r\n${named}\r\nContent-Length: 2\r\n\r\nab`,
    );
    const head = app.heads.at(-1)?.toLowerCase() ?? '';
    expect(head).toContain('x-svc-user: token-of-u1\r\n');
    expect(head).toContain('x-forwarded-for: 127.0.0.1\r\n');
    expect(head).toContain(`host: ${appHost}\r\n`);
    expect(head).toContain('content-length: 2\r\n');
  });

  test.each([
    ['two hosts', `Host: ${appHost}\r\nHost: other.apps.test\r\n\r\n`],
    [
      'a length and chunks',
      `Host: ${appHost}\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    ],
    ['two lengths', `Host: ${appHost}\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd`],
    ['a length that is none', `Host: ${appHost}\r\nContent-Length: +3\r\n\r\nabc`],
    ['an encoding that is none', `Host: ${appHost}\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`],
  ])('is refused with %s', async (_name, rest) => {
    await using app = await startRawApp(() => 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    await using proxy = startProxy({ addresses: [app.address] });
    const client = await connectClient(proxy.port);
    client.send(`POST / HTTP/1.1\r\n${rest}`);
    expect(await client.until('\r\n')).toStartWith('HTTP/1.1 400');
    client.socket.destroy();
    expect(app.heads).toEqual([]);
  });

  test('has no body for GET', async () => {
    await using app = await startRawApp(() => 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    await using proxy = startProxy({ addresses: [app.address] });
    const inner = `GET /inner HTTP/1.1\r\nHost: ${appHost}\r\n\r\n`;
    const first = `GET /first HTTP/1.1\r\nHost: ${appHost}\r\nContent-Length: ${inner.length}\r\n\r\n${inner}`;
    const last = `GET /last HTTP/1.1\r\nHost: ${appHost}\r\nConnection: close\r\n\r\n`;
    const client = await connectClient(proxy.port);
    client.send(first);
    await client.until('ok');
    client.send(last);
    await client.closed();
    expect(app.heads.map((head) => head.split(' ')[1])).toEqual(['/first', '/last']);
    expect(app.heads[0]?.toLowerCase()).not.toContain('content-length');
  });

  test.each(['OPTIONS', 'DELETE', 'PUT', 'PROPFIND'])('can have the method %s', async (method) => {
    await using app = await startRawApp(() => 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    await using proxy = startProxy({ addresses: [app.address] });
    const head = `${method} / HTTP/1.1\r\nHost: ${appHost}\r\nConnection: close\r\n\r\n`;
    expect(await exchange(proxy.port, head)).toEndWith('ok');
    expect(app.heads.at(-1)).toStartWith(`${method} / HTTP/1.1\r\n`);
  });

  test.each(['TRACE', 'CONNECT'])('cannot have the method %s', async (method) => {
    await using app = await startRawApp(() => 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    await using proxy = startProxy({ addresses: [app.address] });
    const client = await connectClient(proxy.port);
    client.send(`${method} / HTTP/1.1\r\nHost: ${appHost}\r\nConnection: close\r\n\r\n`);
    expect(await client.until('\r\n')).toMatch(/^HTTP\/1.1 (?:4|5)/);
    client.socket.destroy();
    expect(app.heads).toEqual([]);
  });

  test('does not have the credential that the platform consumed', async () => {
    await using app = startApp((request) => Response.json(Object.fromEntries(request.headers)));
    const headers = { authorization: 'Bearer t', 'x-api-key': 'k' };
    const seen = async (authMode: 'bearer' | 'api_key' | 'cookie' | 'anonymous') => {
      await using proxy = startProxy({ addresses: [app.address], authMode });
      const received = await (await proxy.fetch('/', { headers })).json();
      return [received.authorization, received['x-api-key']];
    };
    expect(await seen('bearer')).toEqual([undefined, 'k']);
    expect(await seen('api_key')).toEqual(['Bearer t', undefined]);
    expect(await seen('cookie')).toEqual(['Bearer t', 'k']);
    expect(await seen('anonymous')).toEqual(['Bearer t', 'k']);
  });
});
