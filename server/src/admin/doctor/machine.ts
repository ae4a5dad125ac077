import { existsSync, statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { localLoginFile } from '@svc/contract/identity.ts';
import { getDomain } from 'tldts';
import { isLoopbackUrl } from '../../config/services.ts';
import type { Config } from '../../config.ts';
import { clockDifferenceMsMax, msAheadOfDatabase } from '../../core/migrate.ts';
import { clusterFolder } from '../../drivers/database/cluster.ts';
import { findGitSandboxProblem } from '../../drivers/git/git-sandbox.ts';
import { checkEngine } from '../../drivers/runtime/docker/docker-runtime.ts';
import { checkProcessRuntime } from '../../drivers/runtime/process/isolation.ts';
import { adviceForClosed, findClosedToServer, showBelowClosed } from '../../supervisor/server-user.ts';
import { connectionsNeeded } from '../../supervisor/worker-count.ts';
import { hasTable } from '../system.ts';
import { configCheck, databaseCheck, errorText, type Finding, ok, problem, warning } from './check.ts';

const mebibyte = 1024 * 1024;
const freeBytesMin = 100 * mebibyte;
const freeBytesEnough = 1024 * mebibyte;
const secretFiles = [
  'postgres.json',
  'raw/postgres.json',
  localLoginFile,
  'demo-password',
  'audit-anchors.jsonl',
];

export const dataDir = configCheck('data dir', async ({ dataDir: folder }) => {
  const found = statSync(folder, { throwIfNoEntry: false });
  if (!found) return warning(`${folder} does not exist yet.`, 'The first start of the server creates it.');
  if (!found.isDirectory()) return problem(`${folder} is not a folder.`, 'Set SVC_DATA_DIR to a folder.');
  return checkMode(folder, found) ?? checkSecrets(folder) ?? freeSpace(folder);
});

function checkMode(folder: string, { mode, uid }: { mode: number; uid: number }): Finding | null {
  // The supervisor gives the folder of root to the group of the server, with the sticky bit.
  const ownGroup = uid === 0 && (mode & 0o1000) !== 0 ? 0o070 : 0;
  if (mode & ~ownGroup & 0o022)
    return problem(`Other users may write into ${folder}.`, `chmod go-w ${folder}`);
  if (mode & ~ownGroup & 0o044) return warning(`Other users may list ${folder}.`, `chmod go-r ${folder}`);
  return null;
}

function checkSecrets(folder: string): Finding | null {
  const open = secretFiles
    .map((name) => join(folder, name))
    .filter((path) => ((statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o077) !== 0);
  if (open.length === 0) return null;
  return problem(`Other users may read ${open.join(', ')}.`, `chmod 600 ${open.join(' ')}`);
}

function freeSpace(folder: string): Finding {
  const { bavail, bsize } = statfsSync(folder);
  const free = bavail * bsize;
  const detail = `${folder}: ${Math.floor(free / mebibyte)} MiB free.`;
  if (free < freeBytesMin) return problem(detail, 'Free disk space: a full disk stops all writes.');
  if (free < freeBytesEnough) return warning(detail, 'Free disk space soon.');
  return ok(detail);
}

export const address = configCheck('address', checkAddress);

async function checkAddress({ socket, host, port, baseUrl }: Config): Promise<Finding> {
  const url = new URL(baseUrl);
  const isLocal = /^(localhost|127\.[\d.]+|\[::1\])$|\.localhost$/.test(url.hostname);
  const detail = `Listens on ${socket ? `unix:${socket}` : `${host}:${port}`}, public URL ${baseUrl}.`;
  if (!socket && isLocal && host !== '127.0.0.1' && host !== 'localhost' && host !== '::1') {
    return warning(
      `${detail} The port is reachable from other machines, but the public URL is local.`,
      'Set SVC_BASE_URL to the public URL of the server.',
    );
  }
  if (!socket && isLocal && url.protocol === 'http:' && Number(url.port || 80) !== port) {
    return warning(`${detail} The ports differ.`, 'Leave SVC_BASE_URL unset, or name the same port.');
  }
  if (!isLocal && url.protocol === 'http:') {
    return warning(
      `${detail} Passwords and tokens travel unencrypted.`,
      'Use a TLS proxy, and set SVC_BASE_URL to the https URL.',
    );
  }
  if (!socket && port < 1024 && process.getuid?.() !== 0) {
    return warning(`${detail} Ports below 1024 need privileges.`, 'Set SVC_PORT to a higher port.');
  }
  return ok(detail);
}

/** An app can set cookies for its whole registrable domain, and is same-site with every host there. */
export const appsDomain = configCheck('apps domain', async ({ baseUrl, appsDomain: apps }) => {
  const { hostname } = new URL(baseUrl);
  const findDomain = (host: string) => getDomain(host, { allowPrivateDomains: true });
  const shared = findDomain(`any-app.${apps}`);
  if (shared === null || shared !== findDomain(hostname))
    return ok(`Apps are below ${apps}, which shares no domain with ${hostname}.`);
  return warning(
    `Apps are below ${apps}, which shares the domain ${shared} with ${hostname}.`,
    'Set SVC_APPS_DOMAIN to a domain that is registered for apps alone.',
  );
});

const readyMsMax = 3_000;

/** Only a warning, because the server may be stopped on purpose. */
export const server = configCheck('server', async ({ socket, baseUrl }) => {
  if (!socket) return checkReady(baseUrl, {}, 'Start it with npm start.');
  const own = await checkReady('http://localhost', { unix: socket }, 'Start it with npm start.');
  return own.status === 'ok' ? checkReady(baseUrl, {}, `The server is ready: see to its proxy.`) : own;
});

async function checkReady(origin: string, options: { unix?: string }, hint: string): Promise<Finding> {
  const name = options.unix ? `unix:${options.unix}` : origin;
  try {
    const answer = await fetch(`${origin}/readyz`, {
      ...options,
      signal: AbortSignal.timeout(readyMsMax),
    });
    await answer.body?.cancel();
    if (answer.ok) return ok(`A server is ready on ${name}.`);
    return warning(`${name}/readyz returns ${answer.status}.`, "See the server's log.");
  } catch (error) {
    return warning(`No server responds on ${name}: ${errorText(error)}`, hint);
  }
}

/** Each process of a server listens for changes with one connection. */
export const workers = databaseCheck('workers', async ({ control }) => {
  const { rows } = await control.pool.query<{ running: number; allowed: number }>(
    `select count(*)::int as running, current_setting('max_connections')::int as allowed
     from pg_stat_activity where application_name = 'svc listen' and datname = current_database()`,
  );
  const { running = 0, allowed = 0 } = rows[0] ?? {};
  const detail = `${running} server processes use the database, which allows ${allowed} connections.`;
  if (running === 0 || connectionsNeeded(running) <= allowed) return ok(detail);
  return warning(
    detail,
    `Raise max_connections of PostgreSQL to ${connectionsNeeded(running)}, or lower SVC_WORKERS.`,
  );
});

const differenceMsOk = 2_000;

export const clock = databaseCheck('clock', async ({ control }) => {
  const difference = Math.abs(await msAheadOfDatabase(control.pool));
  const detail = `This machine and the database differ by ${difference} ms.`;
  const hint = 'Synchronize both with NTP.';
  if (difference > clockDifferenceMsMax) return problem(detail, hint);
  return difference > differenceMsOk ? warning(detail, hint) : ok(detail);
});

/** Does not start the runtime, which the server may be using. */
export const runtime = configCheck('runtime', async ({ runtime: chosen, dataDir, baseUrl }) => {
  if (chosen.kind === 'docker') {
    const { ok: isOk, isOpen = false, detail } = await checkEngine(chosen.docker, chosen.isolation);
    if (isOk) return ok(detail);
    return isOpen ? withoutIsolation(detail, baseUrl) : warning(detail, refusedHint);
  }
  const found = await checkProcessRuntime({ ...chosen, dataDir });
  const { detail } = found;
  if (found.ok) return ok(detail);
  if (found.isRefused) return problem(detail, refusedHint);
  if (found.isOpen) return withoutIsolation(detail, baseUrl);
  return warning(
    detail,
    'Without it, memory is checked every second, and apps that use too much CPU are paused.',
  );
});

function withoutIsolation(detail: string, baseUrl: string): Finding {
  if (isLoopbackUrl(baseUrl))
    return warning(detail, 'Apps can read what the server can read. Run only apps that you trust.');
  return problem(
    detail,
    'Apps can read what the server can read. Unset SVC_RUNTIME_ISOLATION, so that apps without a sandbox are refused.',
  );
}

const refusedHint = 'Apps cannot be deployed without it; sites and rows are still served.';
/** Owns no file, so that only the rights of others count. */
const anotherUser = { uid: -1, gid: -1 };

/** The socket of the agent belongs to the user of the server that runs. */
export const serverUser = configCheck('server user', async ({ dataDir, runtime: { kind } }) => {
  if (process.getuid?.() !== 0) return ok('The server has the rights of the user who starts it.');
  if (kind === 'docker') return ok('The server runs as root, as the socket of Docker gives every right.');
  if (!existsSync(dataDir)) return ok(unprivileged);
  const owner = statSync(join(dataDir, 'agent.sock'), { throwIfNoEntry: false });
  if (owner && owner.uid !== 0) return ok(`The server runs as user ${owner.uid}.`);
  const cluster = statSync(clusterFolder(dataDir), { throwIfNoEntry: false });
  const user = cluster && cluster.uid !== 0 ? cluster : anotherUser;
  const closed = findClosedToServer(dataDir, user);
  if (closed === null) return ok(unprivileged);
  const enter = showBelowClosed(closed, { dataDir, user, env: {} });
  if (!owner && typeof enter !== 'string') return ok(unprivileged);
  const reason = typeof enter === 'string' ? ` ${enter}` : '';
  return warning(
    `Started by root, the server runs as root, because another user cannot enter ${closed}.${reason}`,
    adviceForClosed(closed),
  );
});

const unprivileged = 'Started by root, the server runs as a user without rights.';

export const gitSandbox = configCheck('git sandbox', async () => {
  const reason = findGitSandboxProblem();
  if (reason === null) return ok('git reads what people push in a sandbox without rights and network.');
  return warning(
    `git reads what people push with the rights of the server. ${reason}`,
    'Allow the sandbox, or let only people push whom you trust.',
  );
});

export const otherRuntime = databaseCheck('apps of another runtime', async ({ config, control }) => {
  if (!(await hasTable(control.pool, 'svc.deployments'))) return ok('No app has been deployed.');
  const { rows } = await control.pool.query<{ name: string; runtime: string }>(
    `select t.slug || '/' || a.slug as name, d.runtime
     from svc.apps a join svc.deployments d on d.id = a.live_deployment_id join svc.tenants t on t.id = a.tenant_id
     where a.record = 'active' and a.runtime = 'running' and d.method <> 'static' and d.runtime <> $1
     order by 1 limit $2`,
    [config.runtime.kind, shownMax + 1],
  );
  if (rows.length === 0) return ok(`All live apps run on ${config.runtime.kind}.`);
  const names = rows.slice(0, shownMax).map(({ name }) => name);
  return warning(
    `Built for another runtime, and not running: ${names.join(', ')}${rows.length > shownMax ? ' …' : ''}.`,
    `Ask their owners to deploy again, or set SVC_RUNTIME back to ${rows[0]?.runtime}.`,
  );
});

const shownMax = 20;
