import { existsSync, mkdirSync, readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import type { Logger } from 'pino';
import type { Db } from '../core/db.ts';
import type { GitHostConfig } from '../drivers/git/open-git-host.ts';
import type { ObjectStoreConfig } from '../drivers/object-store/open-object-store.ts';
import { createIfMissing } from '../drivers/os/files.ts';

interface ServerRow {
  host: string;
  data_dir: string;
  network: string;
  runtime: string;
  objects: string;
  repositories: string;
  base_url: string;
  apps_domain: string;
}

export interface ServerConfig {
  baseUrl: string;
  appsDomain: string;
  dataDir: string;
  objectStore: ObjectStoreConfig;
  gitHost: GitHostConfig;
  runtime: { kind: 'process' | 'docker' };
}

const renewEveryMs = 30_000;
const seenSeconds = 90;

export async function registerServer(
  { db, log }: { db: Db; log: Logger },
  config: ServerConfig,
): Promise<{ stop(): Promise<void> }> {
  const own = describeServer(config);
  await sql`delete from svc.servers where seen_at < now() - interval '1 day'`.execute(db);
  await saveServer(db, own);
  for (const { detail, hint } of findUnshared(await listServers(db)))
    log.error({ detail, hint }, 'servers of one database do not share what they must');
  const renew = () =>
    saveServer(db, own).catch((error: unknown) =>
      log.warn({ err: error }, 'renewal of the server row failed'),
    );
  const timer = setInterval(() => void renew(), renewEveryMs);
  return {
    async stop() {
      clearInterval(timer);
      await sql`delete from svc.servers where host = ${own.host} and data_dir = ${own.data_dir}`.execute(db);
    },
  };
}

function describeServer(config: ServerConfig): ServerRow {
  const { dataDir, objectStore, gitHost, runtime, baseUrl, appsDomain } = config;
  return {
    host: hostname(),
    base_url: baseUrl,
    apps_domain: appsDomain,
    data_dir: dataDir,
    network: networkId(),
    runtime: runtime.kind,
    objects:
      objectStore.kind === 'file'
        ? `folder ${folderId(join(dataDir, 'objects'))}`
        : `bucket ${objectStore.bucket} at ${objectStore.endpoint}`,
    repositories: gitHost.kind === 'built-in' ? `folder ${folderId(join(dataDir, 'git'))}` : gitHost.kind,
  };
}

async function saveServer(db: Db, row: ServerRow): Promise<void> {
  await sql`
    insert into svc.servers (host, data_dir, network, runtime, objects, repositories, base_url, apps_domain)
    values (${row.host}, ${row.data_dir}, ${row.network}, ${row.runtime}, ${row.objects}, ${row.repositories},
      ${row.base_url}, ${row.apps_domain})
    on conflict (host, data_dir) do update set seen_at = now(), network = excluded.network,
      runtime = excluded.runtime, objects = excluded.objects, repositories = excluded.repositories,
      base_url = excluded.base_url, apps_domain = excluded.apps_domain`.execute(db);
}

export async function listServers(db: Db): Promise<ServerRow[]> {
  const { rows } = await sql<ServerRow>`
    select host, data_dir, network, runtime, objects, repositories, base_url, apps_domain from svc.servers
    where seen_at > now() - make_interval(secs => ${seenSeconds}) order by host, data_dir`.execute(db);
  return rows;
}

interface Unshared {
  detail: string;
  hint: string;
}

export function findUnshared(servers: readonly ServerRow[]): Unshared[] {
  const differ = (value: (server: ServerRow) => string) => new Set(servers.map(value)).size > 1;
  const list = (value: (server: ServerRow) => string) =>
    servers.map((server) => `${server.host}:${server.data_dir} (${value(server)})`).join(', ');
  const found: Unshared[] = [];
  if (differ(({ objects }) => objects))
    found.push({
      detail: `Servers have different object stores: ${list(({ objects }) => objects)}. Sites, uploads, files and builds of one are missing on the others.`,
      hint: 'Set SVC_OBJECT_STORE to the same bucket for all of them.',
    });
  if (differ(({ repositories }) => repositories))
    found.push({
      detail: `Servers have different git repositories: ${list(({ repositories }) => repositories)}. What is pushed to one is missing on the others.`,
      hint: 'Mount one shared volume as the folder git of each data directory, or set SVC_GIT_HOST=github for all of them.',
    });
  if (differ(({ runtime }) => runtime))
    found.push({
      detail: `Servers run apps in different ways: ${list(({ runtime }) => runtime)}.`,
      hint: 'Set SVC_RUNTIME to the same value for all of them.',
    });
  else if (servers.some(({ runtime }) => runtime === 'process') && differ(({ network }) => network))
    found.push({
      detail: `Servers on several machines run apps as processes, which only the server of their machine reaches: ${list(({ network }) => network)}.`,
      hint: 'Run apps in a Docker Swarm (SVC_RUNTIME=docker), or send requests to one machine only and start the other one when it is gone.',
    });
  for (const [name, value] of [
    ['SVC_BASE_URL', ({ base_url }: ServerRow) => base_url],
    ['SVC_APPS_DOMAIN', ({ apps_domain }: ServerRow) => apps_domain],
  ] as const)
    if (differ(value))
      found.push({
        detail: `Servers have different values of ${name}: ${list(value)}. Sign-ins and links of one do not work at the others.`,
        hint: `Set ${name} to the same value for all of them.`,
      });
  return found;
}

const idFile = 'svc-folder-id';

/** The same at every path and machine where the folder is mounted. */
function folderId(folder: string): string {
  const path = join(folder, idFile);
  if (!existsSync(path)) {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    createIfMissing(path, `${crypto.randomUUID()}\n`);
  }
  return readFileSync(path, 'utf8').trim().slice(0, 8);
}

/** Identifies the kernel and its network namespace, elsewhere the host. */
function networkId(): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return `${boot.slice(0, 8)} ${readlinkSync('/proc/self/ns/net')}`;
  } catch {
    return hostname();
  }
}
