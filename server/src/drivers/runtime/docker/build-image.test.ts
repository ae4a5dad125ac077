import { expect, test } from 'bun:test';
import { pushImage } from './build-image.ts';
import { createEngine } from './engine.ts';

test('storing an image in the registry ends at the time limit of builds', async () => {
  const stop = Promise.withResolvers<Response>();
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: ({ url }) =>
      url.endsWith('/version') ? Response.json({ ApiVersion: '1.45', MinAPIVersion: '1.24' }) : stop.promise,
  });
  try {
    const engine = createEngine(`tcp://127.0.0.1:${server.port}`);
    const job = { signal: new AbortController().signal, log: () => {} };
    const push = pushImage({ engine, buildMsMax: 200 }, job, 'registry/app:1');
    await expect(push).rejects.toThrow('The build took longer');
  } finally {
    stop.resolve(new Response());
    await server.stop(true);
  }
});
