import { expect, test } from 'bun:test';
import { newRepository } from './support/git.ts';
import { newTenant } from './support/people.ts';
import { endWith, startServer } from './support/server.ts';

test("the server's requests to itself do not go through a proxy in its environment", async () => {
  const heard: string[] = [];
  const proxy = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request) {
      heard.push(`${request.method} ${request.url}`);
      return new Response('proxy', { status: 502 });
    },
  });
  const at = `http://127.0.0.1:${proxy.port}`;
  const server = await startServer({
    env: { HTTP_PROXY: at, http_proxy: at, NO_PROXY: 'one.example', no_proxy: 'other.example' },
  });
  endWith(server, () => proxy.stop(true));
  const tenant = await newTenant(server);
  const repo = await newRepository(tenant, tenant.member);
  // Answered by the git host, which is the server itself.
  const query = new URLSearchParams({ repo });
  const found = await tenant.member.call('GET', `${tenant.base}/git-host/detect?${query}`);
  expect(found.status).toBe(200);
  expect(heard).toEqual([]);
});
