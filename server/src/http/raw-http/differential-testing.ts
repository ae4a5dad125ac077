import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../../../scripts/free-port.ts';

export interface SeenRequest {
  method: string;
  target: string;
  host: string;
  body: string;
}

/** A server that records the requests it reads. */
export interface Peer {
  /** Ends the connection for what is no `close` to others, as nginx does for `Connection: closed`. */
  endsEarly?: boolean;
  name: string;
  port: number;
  received: SeenRequest[];
  stop(): Promise<void>;
}

export function startBunPeer(): Peer {
  const received: SeenRequest[] = [];
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request, bun) {
      const { pathname, search, host } = new URL(request.url);
      // Bun hides the body of GET, and skips it.
      const body = request.method === 'GET' ? '' : await request.text().catch(() => null);
      if (body !== null) received.push({ method: request.method, target: pathname + search, host, body });
      bun.timeout(request, 5);
      return new Response('ok');
    },
  });
  return { name: 'bun', port: Number(server.port), received, stop: () => server.stop(true) };
}

const nodeServer = `
const http = require('node:http');
const server = http.createServer((request, response) => {
  let body = '';
  request.setEncoding('latin1');
  request.on('data', (chunk) => (body += chunk));
  request.on('end', () => {
    const { method, headers } = request;
    const target = request.url.replace(/^http:..[^/]*/, '');
    console.log(JSON.stringify({ method, target, host: headers.host, body: method === 'GET' ? '' : body }));
    response.end('ok');
  });
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
`;

/** Node's parser (llhttp), in a process of its own: `node:http` of Bun has another one. */
export async function startNodePeer(): Promise<Peer> {
  const child = Bun.spawn(['node', '-e', nodeServer], { stdin: 'ignore', stdout: 'pipe', stderr: 'inherit' });
  const received: SeenRequest[] = [];
  const { promise: port, resolve } = Promise.withResolvers<number>();
  void readLines(child.stdout, (line) => {
    if (/^\d+$/.test(line)) resolve(Number(line));
    else received.push(JSON.parse(line) as SeenRequest);
  });
  const stop = async () => {
    child.kill();
    await child.exited;
  };
  return { name: 'node', port: await port, received, stop };
}

const nginx = Bun.which('nginx', { PATH: '/usr/local/sbin:/usr/sbin:/usr/bin' });
export const hasNginx = nginx !== null;

/** nginx as a proxy in front of a server that records; null where it is not installed. */
export async function startNginxPeer(): Promise<Peer | null> {
  if (nginx === null) return null;
  const recorder = await startNodePeer();
  const folder = mkdtempSync(join(tmpdir(), 'svc-nginx-'));
  const port = freePort();
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${join(folder, name)};`,
  );
  const config = join(folder, 'nginx.conf');
  writeFileSync(
    config,
    `daemon off; worker_processes 1; pid ${join(folder, 'pid')}; error_log ${join(folder, 'log')};
${process.getuid?.() === 0 ? 'user root;' : ''}
events {}
http {
  access_log off; ${temporary.join(' ')}
  server {
    listen 127.0.0.1:${port};
    location / { proxy_pass http://127.0.0.1:${recorder.port}; proxy_http_version 1.1; proxy_set_header Host $http_host; proxy_set_header Connection ""; }
  }
}
`,
  );
  const child = Bun.spawn([nginx, '-c', config, '-p', folder], { stdout: 'ignore', stderr: 'ignore' });
  await untilListening(port);
  const stop = async () => {
    child.kill();
    await child.exited;
    await recorder.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  return { name: 'nginx', endsEarly: true, port, received: recorder.received, stop };
}

async function untilListening(port: number): Promise<void> {
  const until = performance.now() + 20_000;
  for (;;) {
    try {
      const socket = await Bun.connect({ hostname: '127.0.0.1', port, socket: { data() {} } });
      socket.end();
      return;
    } catch (error) {
      if (performance.now() > until) throw error;
      await Bun.sleep(20);
    }
  }
}

async function readLines(stream: ReadableStream<Uint8Array>, onLine: (line: string) => void): Promise<void> {
  let rest = '';
  const decoder = new TextDecoder();
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) onLine(line);
  }
}
