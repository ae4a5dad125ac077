import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { git, newRepository, remoteOf } from './git-repos.ts';
import type { Person, Tenant } from './people.ts';
import { done } from './rows-proof.ts';
import { temporaryFolder } from './server.ts';
import { askSite, type SiteAnswer, type SiteGround, visitorCookie } from './sites.ts';
import { until } from './until.ts';

export type Files = Readonly<Record<string, string>>;

export interface Deployment {
  id: string;
  seq: number;
  state: string;
  trigger: string;
  commit: string | null;
  failure: { code: string; step: string; detail: string } | null;
}

/**
 * A server without dependencies. What it answers is half of its program and half of a file beside it: `one/one` is a
 * whole version, anything else is not. Messages of WebSockets come back behind the version.
 */
export function nodeApp(version: string, { waitFor = '' }: { waitFor?: string } = {}): Files {
  return {
    'svc.yaml': 'start: node server.js\n',
    'version.txt': version,
    'server.js': `
const { createHash } = require('node:crypto');
const { existsSync, readFileSync } = require('node:fs');
const { createServer } = require('node:http');
const version = ${JSON.stringify(version)};
const server = createServer((request, response) => {
  const other = readFileSync('version.txt', 'utf8');
  setTimeout(() => response.end(version + '/' + other), 5);
});
server.on('upgrade', (request, socket) => {
  const key = request.headers['sec-websocket-key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
  const accept = createHash('sha1').update(key).digest('base64');
  socket.on('error', () => {});
  socket.on('data', (frame) => {
    if ((frame[0] & 15) === 8) return socket.end(Buffer.from([0x88, 0]));
    const [mask, body] = [frame.subarray(2, 6), frame.subarray(6)];
    const text = Buffer.from(body.map((byte, at) => byte ^ mask[at % 4])).toString();
    const answer = Buffer.from(version + ' ' + text);
    socket.write(Buffer.concat([Buffer.from([0x81, answer.length]), answer]));
  });
  const head = ['HTTP/1.1 101 Switching Protocols', 'Upgrade: websocket', 'Connection: Upgrade'];
  socket.write([...head, 'Sec-WebSocket-Accept: ' + accept, '', ''].join('\\r\\n'));
});
const begin = () => {
  const waitFor = ${JSON.stringify(waitFor)};
  if (waitFor !== '' && !existsSync(waitFor)) return setTimeout(begin, 50);
  server.listen(process.env.PORT, '127.0.0.1');
};
begin();
process.on('SIGTERM', () => process.exit(0));
`,
  };
}

export interface NodeApp {
  tenant: Tenant;
  owner: Person;
  id: string;
  slug: string;
  /** `/api/v1/tenants/<id>/apps/<id>` */
  base: string;
  repo: string;
  /** As `host:port` of the platform's own listener. */
  authority: string;
  cookie: string;
  copy: WorkingCopy;
  ask(path?: string): Promise<SiteAnswer>;
  /** Soon: the edge hears of a deployment a moment after it is live. Others that answer meanwhile are no error. */
  answers(version: string, millisecondsMax?: number): Promise<void>;
  deployments(): Promise<Deployment[]>;
  /** Of the connected branch. */
  deploy(body?: Record<string, unknown>): Promise<Deployment>;
  ended(deployment: Pick<Deployment, 'id'>, millisecondsMax?: number): Promise<Deployment>;
}

/** A private app that is more than files, connected to a repository of its own; nothing of it is deployed yet. */
export async function newNodeApp(tenant: Tenant, files: Files): Promise<NodeApp> {
  const owner = tenant.member;
  const name = `n-${Bun.randomUUIDv7().replaceAll('-', '').slice(-20)}`;
  const app = await done(owner.call('POST', `${tenant.base}/apps`, { name, deploy_method: 'docker' }));
  const repo = await newRepository(tenant, owner, { 'README.md': 'Soon.' });
  await done(owner.call('POST', `${tenant.base}/apps/${app.id}/git`, { repo }));
  await hookOf(owner, `${tenant.base}/apps/${app.id}`);
  const connected = await nodeAppOf(tenant, { app, repo });
  connected.copy.write(files);
  return connected;
}

/** From the first push on it is told of. */
const hookOf = (owner: Person, base: string) =>
  until('the hook is made', async () => {
    const { connection } = await done(owner.call('GET', `${base}/git`));
    return connection?.hook.state === 'ok';
  });

/** One that is there, with its repository cloned. */
export async function nodeAppOf(
  tenant: Tenant,
  { app, repo }: { app: { id: string; slug: string; subdomain: string }; repo: string },
): Promise<NodeApp> {
  const owner = tenant.member;
  const base = `${tenant.base}/apps/${app.id}`;
  const host = `${app.subdomain}.apps.localhost`;
  const site = {
    tenant,
    server: tenant.server,
    owner,
    app,
    host,
    base,
    stagingHost: '',
  } satisfies SiteGround;
  const cookie = await visitorCookie(site, owner);
  const remote = remoteOf(tenant, { ...owner, token: await newPat(tenant, owner) }, repo);
  const endStates = ['live', 'superseded', 'failed', 'canceled', 'skipped'];
  const ask: NodeApp['ask'] = (path = '/') =>
    askSite(site, path, { headers: { cookie, accept: 'text/html' } });
  return {
    ...{ tenant, owner, id: app.id, slug: app.slug, base, repo, cookie, ask },
    authority: `${host}:${tenant.server.port}`,
    copy: await cloned(remote),
    async answers(version, millisecondsMax = 2_000) {
      const whole = `${version}/${version}`;
      await until(
        `${version} answers`,
        async () => (await ask().catch(() => null))?.text === whole,
        millisecondsMax,
      );
    },
    deployments: async () => (await done(owner.call('GET', `${base}/deployments?per_page=200`))).items,
    deploy: (body = {}) => done(owner.call('POST', `${base}/deployments`, body)),
    ended: ({ id }, millisecondsMax = 60_000) =>
      until(
        `deployment ${id} ends`,
        async () => {
          const now = await done(owner.call('GET', `${base}/deployments/${id}`));
          return endStates.includes(now.state) ? now : null;
        },
        millisecondsMax,
      ),
  };
}

/** What git is given as a password. */
async function newPat({ base }: Tenant, person: Person): Promise<string> {
  const body = { name: `git-${Bun.randomUUIDv7().slice(-12)}`, actions: ['read', 'write'] };
  return (await done(person.call('POST', `${base}/pats`, body))).secret;
}

export interface WorkingCopy {
  folder: string;
  write(files: Files): void;
  /** Commits what was written and pushes it; the commit. */
  push(branch?: string): Promise<string>;
}

async function cloned(remote: string): Promise<WorkingCopy> {
  const parent = temporaryFolder();
  const folder = join(parent, 'copy');
  const must = async (args: string[], cwd = folder) => {
    const { code, stdout, stderr } = await git(args, cwd);
    if (code !== 0) throw new Error(`git ${args[0]} ended with ${code}: ${stderr}`);
    return stdout.trim();
  };
  await must(['clone', '-q', remote, 'copy'], parent);
  return {
    folder,
    write(files) {
      for (const [path, text] of Object.entries(files)) {
        mkdirSync(dirname(join(folder, path)), { recursive: true });
        writeFileSync(join(folder, path), text);
      }
    },
    async push(branch = 'main') {
      await must(['add', '-A']);
      await must(['commit', '-q', '--allow-empty', '-m', 'A change']);
      await must(['push', '-q', 'origin', `HEAD:refs/heads/${branch}`]);
      return must(['rev-parse', 'HEAD']);
    },
  };
}

export interface AppProcess {
  pid: number;
  /** Of which instance or build. */
  run: string;
}

/** Every process of this machine that was given this app. */
export function processesOf({ id }: Pick<NodeApp, 'id'>): AppProcess[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      const variables = environmentOf(name);
      if (!variables.includes(`SVC_APP_ID=${id}`)) return [];
      const run = variables.find((each) => each.startsWith('SVC_RUN_ID='))?.slice('SVC_RUN_ID='.length);
      return [{ pid: Number(name), run: run ?? '' }];
    });
}

/** The instances and builds of the app that have a process. */
export function runsOf(app: Pick<NodeApp, 'id'>): string[] {
  return [...new Set(processesOf(app).map(({ run }) => run))];
}

function environmentOf(pid: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
  } catch {
    // It has ended.
    return [];
  }
}
