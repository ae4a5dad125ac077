import { afterEach, expect, test } from 'bun:test';
import { noProxyEnvironment } from './no-proxy.ts';

const names = ['HTTP_PROXY', 'http_proxy', 'NO_PROXY', 'no_proxy'];
const before = names.map((name) => [name, process.env[name]] as const);

afterEach(() => {
  for (const [name, value] of before)
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
});

test('without a configured proxy, nothing is set', () => {
  expect(noProxyEnvironment({ NO_PROXY: 'example.com' }, ['10.0.0.5'])).toEqual({});
});

test('configured hosts stay, in either spelling, and this machine is added', () => {
  const env = { HTTP_PROXY: 'http://proxy.test:3128', NO_PROXY: 'a.test, b.test', no_proxy: 'c.test' };
  const direct = 'a.test,b.test,c.test,localhost,127.0.0.1,::1,10.0.0.5';
  expect(noProxyEnvironment(env, ['10.0.0.5', '127.0.0.1'])).toEqual({ NO_PROXY: direct, no_proxy: direct });
});

test.each(['127.0.0.1', '::1', 'localhost'])('requests to %s bypass the proxy', async (hostname) => {
  const requests: string[] = [];
  const answering = (port: number) => `http://${hostname === '::1' ? '[::1]' : hostname}:${port}/x`;
  await using proxy = Bun.serve({
    port: 0,
    fetch(request) {
      requests.push(request.url);
      return new Response('proxy');
    },
  });
  await using app = Bun.serve({ port: 0, hostname, fetch: () => new Response('app') });
  const at = `http://127.0.0.1:${proxy.port}`;
  Object.assign(process.env, { HTTP_PROXY: at, http_proxy: at, NO_PROXY: 'a.test', no_proxy: 'b.test' });
  const ask = async () => (await fetch(answering(app.port ?? 0))).text();
  expect(await ask()).toBe('proxy');
  Object.assign(process.env, noProxyEnvironment(process.env, []));
  expect(await ask()).toBe('app');
  expect(requests).toHaveLength(1);
});
