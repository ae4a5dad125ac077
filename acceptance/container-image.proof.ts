import { describe, expect, test } from 'bun:test';
import { createConnection, createServer, type Socket } from 'node:net';
import packageJson from '../package.json' with { type: 'json' };
import { debianBaseImage, makeDebianBaseImage } from '../scripts/debian-base-image.ts';
import { run as runProgram } from '../scripts/docker-base-image.ts';
import { hasDockerEngine, startDockerEngine } from '../scripts/docker-engine.ts';
import { root, temporaryFolder } from './support/server.ts';
import { until } from './support/until.ts';

/** The engine of tests has no network but this machine: packages are fetched through it. */
function startForwardProxy(host: string) {
  const server = createServer((client) => client.once('data', (head: Buffer) => forward(client, head)));
  return new Promise<{ port: number; stop(): void }>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, host, () => {
      const { port } = server.address() as { port: number };
      resolve({ port, stop: () => void server.close() });
    });
  });
}

function forward(client: Socket, head: Buffer): void {
  client.on('error', () => client.destroy());
  const [method = '', target = ''] = head.toString('latin1').split(' ');
  const isTunnel = method === 'CONNECT';
  const { hostname, port, pathname, search } = new URL(isTunnel ? `https://${target}` : target);
  const upstream = createConnection({ host: hostname, port: Number(port) || (isTunnel ? 443 : 80) });
  upstream.on('error', () => client.destroy());
  upstream.once('connect', () => {
    if (isTunnel) client.write('HTTP/1.1 200 OK\r\n\r\n');
    // One request for each connection: the next one may be for another host.
    else
      upstream.write(
        latin1(head)
          .replace(target, pathname + search)
          .replace(/\r\n/, '\r\nConnection: close\r\n'),
      );
    client.pipe(upstream);
    upstream.pipe(client);
  });
}

const latin1 = (bytes: Buffer) => bytes.toString('latin1');

describe.if(hasDockerEngine)('the container image of the server', () => {
  test('is built from the Dockerfile, becomes healthy, and runs without root', async () => {
    const folder = temporaryFolder();
    const engine = await startDockerEngine(folder);
    const proxy = await startForwardProxy(engine.gateway.address);
    try {
      const { docker } = engine;
      await makeDebianBaseImage(folder, docker);
      const url = `http://${engine.gateway.address}:${proxy.port}`;
      const names = ['http_proxy', 'https_proxy'];
      const args = [`BASE=${debianBaseImage}`, ...names.map((name) => `${name}=${url}`)];
      const flags = args.flatMap((arg) => ['--build-arg', arg]);
      const words = ['build', '--file', `${root}/deploy/Dockerfile`, '--tag', 'svc', ...flags, root];
      // npm says on standard output why it fails.
      const merged = ['-c', 'exec "$@" 2>&1', '-', '/usr/bin/docker', '-H', engine.host];
      await runProgram('sh', ...merged, ...words);
      const variables = { SVC_BASE_URL: 'http://svc.example.com', SVC_APPS_DOMAIN: 'apps.example.com' };
      const env = Object.entries(variables).flatMap(([name, value]) => ['--env', `${name}=${value}`]);
      await docker('run', '--detach', '--name', 'svc', '--init', ...env, 'svc');
      await until(
        'the server is healthy',
        async () => {
          const state = await docker(
            'inspect',
            '--format',
            '{{.State.Status}} {{.State.Health.Status}}',
            'svc',
          );
          if (state.startsWith('exited')) throw new Error(await docker('logs', 'svc'));
          return state.trim() === 'running healthy';
        },
        180_000,
      );
      const inside = (...words: string[]) => docker('exec', 'svc', ...words);
      expect((await inside('id', '-u')).trim()).toBe('1000');
      expect(await inside('./svc', 'version', '--client')).toContain(packageJson.version);
      const fetched = `fetch('http://127.0.0.1:3000/install').then((it) => it.text()).then(console.log)`;
      expect(await inside('node', '-e', fetched)).toContain(variables.SVC_BASE_URL);
      for (const program of ['bwrap', 'pasta', 'git', 'python3'])
        expect(await inside('sh', '-c', `command -v ${program}`)).toContain(program);
    } finally {
      proxy.stop();
      await engine.stop();
    }
  }, 1_800_000);
});
