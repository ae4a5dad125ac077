import { describe, expect, test } from 'bun:test';
import { exchange } from '../../../http/raw-http/testing.ts';
import { appHost, freeAddress, startApp, startProxy, startRawApp } from './testing.ts';

describe('an app that does not respond', () => {
  const page = { headers: { accept: 'text/html' } };

  test('is starting if it has no instance, as a page or a problem', async () => {
    await using proxy = startProxy({ addresses: [] });
    const shown = await proxy.fetch('/', page);
    expect([shown.status, shown.headers.get('retry-after')]).toEqual([503, '2']);
    expect(await shown.text()).toContain('Starting');
    const problem = await proxy.fetch('/', { headers: { 'x-request-id': 'mine-2' } });
    expect(await problem.json()).toMatchObject({ code: 'app_starting', request_id: 'mine-2' });
    expect(problem.headers.get('x-request-id')).toBe('mine-2');
  });

  test('is 502 if nothing listens at its address', async () => {
    await using proxy = startProxy({ addresses: [await freeAddress()] });
    expect(await (await proxy.fetch('/')).json()).toMatchObject({ code: 'app_unreachable', status: 502 });
    expect(await (await proxy.fetch('/', page)).text()).toContain('does not respond');
  });

  test.each(['GET', 'POST'])('is found at the one address that listens: %s', async (method) => {
    await using app = startApp(async (request) => new Response(`here ${await request.text()}`));
    await using proxy = startProxy({ addresses: [await freeAddress(), app.address, await freeAddress()] });
    for (let at = 0; at < 6; at++) {
      const body = method === 'POST' ? `body ${at}` : undefined;
      const answer = await proxy.fetch('/', { method, ...(body ? { body } : {}) });
      expect(await answer.text()).toBe(`here ${body ?? ''}`);
    }
  });

  test('gets requests at its addresses in turn', async () => {
    await using one = startApp(() => new Response('one'));
    await using two = startApp(() => new Response('two'));
    await using proxy = startProxy({ addresses: [one.address, two.address] });
    const texts = new Set<string>();
    for (let at = 0; at < 4; at++) texts.add(await (await proxy.fetch('/')).text());
    expect([...texts].sort()).toEqual(['one', 'two']);
  });

  test('is found at its new address, also for a request with a body', async () => {
    await using old = startApp(async (request) => new Response(`old ${await request.text()}`));
    await using next = startApp(async (request) => new Response(`next ${await request.text()}`));
    await using proxy = startProxy({ addresses: [old.address] });
    expect(await (await proxy.fetch('/', { method: 'POST', body: '1' })).text()).toBe('old 1');
    proxy.moveTo([next.address]);
    await old.server.stop(true);
    expect(await (await proxy.fetch('/', { method: 'POST', body: '2' })).text()).toBe('next 2');
    expect(await (await proxy.fetch('/')).text()).toBe('next ');
  });

  test('is retried at another address at once', async () => {
    const old = startApp(() => new Response('old'));
    await using next = startApp(() => new Response('next'));
    await using proxy = startProxy({ addresses: [old.address] });
    expect(await (await proxy.fetch('/')).text()).toBe('old');
    proxy.moveTo([next.address]);
    await old.server.stop(true);
    expect(await (await proxy.fetch('/')).text()).toBe('next');
  });

  test('is 504 without a first byte in time', async () => {
    await using app = startApp(() => new Promise<Response>(() => {}));
    await using proxy = startProxy({ addresses: [app.address], limits: { firstByteMs: 100 } });
    expect(await (await proxy.fetch('/')).json()).toMatchObject({ code: 'app_timeout', status: 504 });
    const posted = await proxy.fetch('/', { method: 'POST', body: 'x', ...page });
    expect([posted.status, await posted.text()]).toMatchObject([504, expect.stringContaining('too long')]);
    expect(proxy.inFlight.count(app.address)).toBe(0);
  });

  test('may have more time for the first byte, or less', async () => {
    await using app = startApp(() => Bun.sleep(300).then(() => new Response('late')));
    const limits = { firstByteMs: 100, everyMs: 20 };
    await using patient = startProxy({ addresses: [app.address], limits, firstByteMs: 60_000 });
    expect(await (await patient.fetch('/')).text()).toBe('late');
    await using usual = startProxy({ addresses: [app.address], limits });
    expect((await usual.fetch('/')).status).toBe(504);
  });

  test('is cut after a silent body, and later for an event stream', async () => {
    const silent = (type: string) => () =>
      new Response(
        new ReadableStream({
          start: (controller) => controller.enqueue(new TextEncoder().encode('started')),
        }),
        { headers: { 'content-type': type } },
      );
    const limits = { idleMs: 100, longIdleMs: 1_500 };
    const lasted = async (type: string) => {
      await using app = startApp(silent(type));
      await using proxy = startProxy({ addresses: [app.address], limits });
      const start = performance.now();
      const received = await exchange(proxy.port, `GET / HTTP/1.1\r\nHost: ${appHost}\r\n\r\n`);
      expect(received).toContain('started');
      expect(received).not.toEndWith('0\r\n\r\n');
      return performance.now() - start;
    };
    expect(await lasted('text/plain')).toBeLessThan(1_000);
    expect(await lasted('text/event-stream')).toBeGreaterThan(1_000);
  });

  test('gets no requests for service workers', async () => {
    await using app = await startRawApp(() => 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    await using proxy = startProxy({ addresses: [app.address] });
    expect((await proxy.fetch('/sw.js', { headers: { 'service-worker': 'script' } })).status).toBe(403);
    expect(app.heads).toEqual([]);
  });
});
