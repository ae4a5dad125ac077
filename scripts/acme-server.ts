import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { hasDnsServer } from './dns-server.ts';
import { freePort } from './free-port.ts';
import { patientMs } from './patience.ts';

/**
 * Debian's Caddy as an ACME server. Caddy resolves names on port 53 and validates on port 80, so it gets its own
 * `resolv.conf` and a loopback address per test. Requires root.
 */
const program = '/usr/bin/caddy';

export const hasAcmeServer =
  hasDnsServer &&
  existsSync(program) &&
  process.getuid?.() === 0 &&
  Bun.spawnSync(['unshare', '--mount', 'true'], { stderr: 'ignore' }).exitCode === 0;

export interface AcmeServer {
  directoryUrl: string;
  caFile: string;
  port: number;
  stop(): Promise<void>;
}

const startMsMax = patientMs(20_000);

export async function startAcmeServer(
  folder: string,
  place: { dnsHost: string; port?: number },
): Promise<AcmeServer> {
  const port = place.port ?? freePort();
  mkdirSync(folder, { recursive: true });
  const [config, resolver] = [join(folder, 'caddy.json'), join(folder, 'resolv.conf')];
  writeFileSync(config, JSON.stringify(configuration(folder, port)));
  writeFileSync(resolver, `nameserver ${place.dnsHost}\noptions timeout:2 attempts:2\n`);
  const script = 'mount --bind "$1" /etc/resolv.conf && exec "$2" run --config "$3"';
  const child = Bun.spawn(
    // The kernel kills the child when this process dies.
    [
      'setpriv',
      '--pdeathsig',
      'KILL',
      'unshare',
      '--mount',
      'sh',
      '-c',
      script,
      '-',
      resolver,
      program,
      config,
    ],
    {
      cwd: folder,
      env: { PATH: process.env.PATH ?? '', HOME: folder, XDG_DATA_HOME: join(folder, 'data') },
      stdin: 'ignore',
      stdout: Bun.file(join(folder, 'caddy.log')),
      stderr: Bun.file(join(folder, 'caddy.log')),
    },
  );
  const stop = async () => {
    child.kill('SIGKILL');
    await child.exited;
  };
  const directoryUrl = `https://127.0.0.1:${port}/acme/test/directory`;
  const caFile = join(folder, 'store', 'pki', 'authorities', 'test', 'root.crt');
  for (const deadline = Date.now() + startMsMax; Date.now() < deadline; await Bun.sleep(20)) {
    if (child.exitCode !== null) break;
    if (existsSync(caFile) && (await answers(directoryUrl, caFile)))
      return { directoryUrl, caFile, port, stop };
  }
  await stop();
  throw new Error(`Caddy did not start; see caddy.log in ${folder}.`);
}

async function answers(url: string, caFile: string): Promise<boolean> {
  const tls = { ca: await Bun.file(caFile).text() };
  return fetch(url, { tls, signal: AbortSignal.timeout(2_000) }).then(
    (answer) => answer.ok,
    () => false,
  );
}

function configuration(folder: string, port: number): Record<string, unknown> {
  const own = { subjects: ['127.0.0.1'], issuers: [{ module: 'internal', ca: 'test' }] };
  return {
    admin: { disabled: true },
    storage: { module: 'file_system', root: join(folder, 'store') },
    apps: {
      pki: { certificate_authorities: { test: { name: 'Test', install_trust: false } } },
      tls: { automation: { policies: [own] }, certificates: { automate: own.subjects } },
      http: {
        servers: {
          acme: {
            listen: [`127.0.0.1:${port}`],
            routes: [
              {
                handle: [
                  {
                    handler: 'acme_server',
                    ca: 'test',
                    host: `127.0.0.1:${port}`,
                    path_prefix: '/acme/',
                  },
                ],
              },
            ],
            automatic_https: { disable_redirects: true },
            tls_connection_policies: [{ default_sni: '127.0.0.1' }],
          },
        },
      },
    },
  };
}

export function loopbackAddress(): string {
  const part = () => 1 + Math.floor(Math.random() * 254);
  return `127.${64 + Math.floor(Math.random() * 64)}.${part()}.${part()}`;
}

export function forward(
  from: { host: string; port: number },
  to: { host: string; port: number },
): { stop(): void } {
  const listener = Bun.listen<{ other: Bun.Socket<unknown> | null; waiting: Buffer[] }>({
    hostname: from.host,
    port: from.port,
    socket: {
      open: async (socket) => {
        socket.data = { other: null, waiting: [] };
        const { data } = socket;
        data.other = await Bun.connect({
          hostname: to.host,
          port: to.port,
          socket: {
            data: (_, bytes) => void socket.write(bytes),
            close: () => void socket.end(),
            error: () => void socket.end(),
          },
        }).catch(() => null);
        if (!data.other) return void socket.end();
        for (const bytes of data.waiting) data.other.write(bytes);
      },
      data: ({ data }, bytes) => void (data.other ? data.other.write(bytes) : data.waiting.push(bytes)),
      close: ({ data }) => void data.other?.end(),
      error: ({ data }) => void data.other?.end(),
    },
  });
  return { stop: () => listener.stop(true) };
}
