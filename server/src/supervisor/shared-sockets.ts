import { lookup } from 'node:dns/promises';
import { chownSync, lstatSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Config } from '../config.ts';
import type { Ids } from '../drivers/database/programs.ts';
import { explainPortInUse, prepareSocketPath } from '../drivers/os/listen.ts';
import type { SharedSockets, SocketName } from '../drivers/supervisor/connect-supervisor.ts';
import { type BoundSocket, openSocketCalls, type SocketCalls } from '../http/socket-calls.ts';

export interface OpenedSockets {
  descriptors: number[];
  inWorker: SharedSockets;
  gatewayPort: number;
  close(): void;
}

const firstDescriptor = 3;

/** Owned by the supervisor, so that no connection is refused while workers change. Null: not possible here. */
export async function openSharedSockets(config: Config, owner: Ids | null): Promise<OpenedSockets | null> {
  const calls = openSocketCalls();
  if (!calls) return null;
  const bound: [SocketName, BoundSocket][] = [];
  const close = () => {
    for (const [, { fd }] of bound) {
      calls.ignoreNewConnections(fd);
      calls.close(fd);
    }
    if (config.socket) rmSync(config.socket, { force: true });
  };
  for (const { name, ...endpoint } of await listEndpoints(config)) {
    const socket = 'path' in endpoint ? bindPath(calls, endpoint.path, owner) : calls.bind(endpoint);
    if (!socket) {
      close();
      return null;
    }
    bound.push([name, socket]);
  }
  return {
    descriptors: bound.map(([, { fd }]) => fd),
    inWorker: Object.fromEntries(bound.map(([name], at) => [name, firstDescriptor + at])),
    gatewayPort: bound.find(([name]) => name === 'gateway')?.[1].port ?? 0,
    close,
  };
}

async function listEndpoints({ socket, host, port, https, metrics, runtime }: Config) {
  const address = await resolveHost(host);
  const endpoints: ({ name: SocketName } & ({ host: string; port: number } | { path: string }))[] = [
    socket ? { name: 'main', path: socket } : { name: 'main', host: address, port },
  ];
  if (https) endpoints.push({ name: 'https', host: address, port: https.port });
  if (runtime.kind === 'process') endpoints.push({ name: 'gateway', host: '127.0.0.1', port: 0 });
  if (metrics.listener)
    endpoints.push({
      name: 'metrics',
      host: await resolveHost(metrics.listener.host),
      port: metrics.listener.port,
    });
  return endpoints;
}

const resolveHost = async (host: string) => (await lookup(host)).address;

/** The umask lets only the owner and the group of the socket connect. */
function bindPath(calls: SocketCalls, path: string, owner: Ids | null): BoundSocket | null {
  const umask = process.umask(0o117);
  try {
    const bound = calls.bind({ path });
    // In a folder with the setgid bit, a file has the group of the folder.
    const hasGroup = (statSync(dirname(path)).mode & 0o2000) !== 0;
    if (bound && owner) chownSync(path, owner.uid, hasGroup ? lstatSync(path).gid : owner.gid);
    return bound;
  } finally {
    process.umask(umask);
  }
}

/** Before anything is set up: a port in use is the usual mistake. */
export async function checkListeners(config: Config): Promise<void> {
  if (config.socket) await prepareSocketPath(config.socket);
  const probes: Bun.TCPSocketListener[] = [];
  try {
    // All of them at once, because two variables may name one port.
    for (const { variable, host, port } of listPorts(config))
      explainPortInUse({ variable, port }, () =>
        probes.push(Bun.listen({ hostname: host, port, socket: { data() {} } })),
      );
  } finally {
    for (const probe of probes) probe.stop(true);
  }
}

export function listPorts({ socket, host, port, https, metrics }: Config) {
  const all = [
    { variable: 'SVC_PORT', host, port: socket ? undefined : port },
    { variable: 'SVC_HTTPS_PORT', host, port: https?.port },
    { variable: 'SVC_METRICS_PORT', host, ...metrics.listener },
  ];
  return all.flatMap((each) => (each.port === undefined ? [] : [{ ...each, port: each.port }]));
}
