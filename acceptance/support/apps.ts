import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { queryDatabase } from './database.ts';
import { mustGit, newRepository, remoteOf } from './git.ts';
import { type App, done, newApp, type Person, type Tenant, uniqueName } from './people.ts';
import { type Files, type RunningServer, temporaryFolder, writeFiles } from './server.ts';
import { askSite, newRelease, siteOf, visitorCookie } from './sites.ts';
import { until } from './until.ts';
import type { World } from './world.ts';

export const staticSource = (): Files => ({ 'index.html': `<h1>${Bun.randomUUIDv7()}</h1>` });

/**
 * An app whose deployments stay in the queue, because another server seems to hold the lease of one that is building.
 * `earlier` is superseded.
 */
export async function newWaitingApp(
  { tenant, people }: World,
  owner: Person,
): Promise<App & { earlier: string }> {
  const app = await newApp(tenant, { owner, coOwner: people.C }, { deploy_method: 'static' });
  const [earlier, held] = [Bun.randomUUIDv7(), Bun.randomUUIDv7()];
  const release = await newRelease({ owner, base: `${app.base}/static` }, staticSource());
  const text = `with made as (update svc.apps set deployments_made = 2 where id = $1 returning tenant_id, id)
    insert into svc.deployments (id, tenant_id, app_id, seq, kind, trigger, state, method, source, is_kept, artifact,
      release_id, live_at, ended_at, lease_holder, lease_until, created_at)
    select d.id::uuid, made.tenant_id, made.id, d.seq, 'deploy', 'person', d.state, 'static', 'upload', d.is_live,
      case when d.is_live then '{}'::jsonb end, case when d.is_live then $4::uuid end,
      case when d.is_live then now() end, case when d.is_live then now() end,
      case when not d.is_live then gen_random_uuid() end, case when not d.is_live then now() + interval '1 day' end, now()
    from made, (values ($2, 1, 'superseded', true), ($3, 2, 'building', false)) d (id, seq, state, is_live)`;
  await queryDatabase(tenant.server, text, [app.id, earlier, held, release.id]);
  return { ...app, earlier };
}

/**
 * A preview of the app whose new deployments wait, because another server seems to hold the lease of one that is building.
 */
export async function insertPreview(server: RunningServer, app: string): Promise<void> {
  await queryDatabase(
    server,
    `with made as (
       insert into svc.apps (id, tenant_id, slug, name, owner_id, owner_since, subdomain, deploy_method, preview_of,
         deployments_made, created_at, updated_at)
       select $2, tenant_id, 'feature--' || subdomain, name || ' (feature)', owner_id, now(), 'feature--' || subdomain,
         deploy_method, id, 1, now(), now() from svc.apps where id = $1 returning id, tenant_id),
     held as (
       insert into svc.deployments (id, tenant_id, app_id, seq, kind, trigger, state, method, source, lease_holder,
         lease_until, created_at)
       select gen_random_uuid(), tenant_id, id, 1, 'deploy', 'push', 'building', 'static', 'repository',
         gen_random_uuid(), now() + interval '1 day', now() from made)
     insert into svc.previews (app_id, tenant_id, parent_id, branch, slug, commit_sha, pushed_at, ttl_seconds, expires_at,
       created_at)
     select id, tenant_id, $1, 'feature', 'feature', repeat('a', 40), now(), 604800, now() + interval '7 days', now()
     from made`,
    [app, Bun.randomUUIDv7()],
  );
}

export async function uploadSource(
  { base, owner }: Pick<App, 'base' | 'owner'>,
  files: Files,
): Promise<string> {
  const { put_url, upload_id } = await done(owner.call('POST', `${base}/sources`));
  const archive = await new Bun.Archive({ ...files }, { compress: 'gzip' }).bytes();
  const sent = await fetch(put_url, { method: 'PUT', body: new Uint8Array(archive) });
  if (sent.status !== 201) throw new Error(`The upload failed: ${await sent.text()}`);
  return upload_id;
}

export interface Deployment {
  id: string;
  seq: number;
  state: string;
  trigger: string;
  commit: string | null;
  failure: { code: string; step: string; detail: string } | null;
}

/**
 * A server without dependencies. Its response is the version of the program and of a file beside it: only `one/one` is a
 * consistent version. WebSocket messages are echoed after the version.
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

export type NodeApp = Awaited<ReturnType<typeof nodeAppOf>>;

/** A private app that runs a program, connected to a repository of its own; nothing is deployed yet. */
export async function newNodeApp(tenant: Tenant, files: Files): Promise<NodeApp> {
  const owner = tenant.member;
  const app = await newApp(tenant, { owner }, { deploy_method: 'docker' });
  const repo = await newRepository(tenant, owner, { 'README.md': 'Soon.' });
  await done(owner.call('POST', `${app.base}/git`, { repo }));
  // Pushes are delivered from here on.
  await until('the hook is created', async () => {
    const { connection } = await done(owner.call('GET', `${app.base}/git`));
    return connection?.hook.state === 'ok';
  });
  const connected = await nodeAppOf(tenant, { app, repo });
  connected.copy.write(files);
  return connected;
}

const endStates = ['live', 'superseded', 'failed', 'canceled', 'skipped'];

/** An app that exists, with its repository cloned. */
export async function nodeAppOf(
  tenant: Tenant,
  { app, repo }: { app: { id: string; slug: string; subdomain: string }; repo: string },
) {
  const owner = tenant.member;
  const site = siteOf(tenant, app);
  const base = `${tenant.base}/apps/${app.id}`;
  const cookie = await visitorCookie(site, owner);
  const pat = { name: uniqueName('git'), actions: ['code'] };
  const { secret } = await done(owner.call('POST', `${tenant.base}/pats`, pat));
  const ask = (path = '/') => askSite(site, path, { headers: { cookie, accept: 'text/html' } });
  return {
    tenant,
    owner,
    id: app.id,
    slug: app.slug,
    base,
    repo,
    cookie,
    ask,
    /** `host:port` of the platform's listener. */
    authority: `${site.host}:${tenant.server.port}`,
    copy: await cloned(remoteOf(tenant, { token: secret }, repo)),
    /** Waits until this version answers: the edge learns of a deployment a moment after it is live. */
    async answers(version: string, maxMs = 2_000) {
      const isVersion = async () => (await ask().catch(() => null))?.text === `${version}/${version}`;
      await until(`${version} answers`, isVersion, maxMs);
    },
    deployments: async (): Promise<Deployment[]> =>
      (await done(owner.call('GET', `${base}/deployments?per_page=200`))).items,
    deploy: (body: object = {}): Promise<Deployment> => done(owner.call('POST', `${base}/deployments`, body)),
    ended({ id }: Pick<Deployment, 'id'>, maxMs = 60_000) {
      const poll = async (): Promise<Deployment | null> => {
        const now = await done(owner.call('GET', `${base}/deployments/${id}`));
        return endStates.includes(now.state) ? now : null;
      };
      return until(`deployment ${id} ends`, poll, maxMs);
    },
  };
}

async function cloned(remote: string) {
  const parent = temporaryFolder();
  const folder = join(parent, 'copy');
  await mustGit(['clone', '-q', remote, 'copy'], parent);
  return {
    folder,
    write: (files: Files) => writeFiles(folder, files),
    /** Commits what was written, pushes it and returns the commit. */
    async push(branch = 'main') {
      await mustGit(['add', '-A'], folder);
      await mustGit(['commit', '-q', '--allow-empty', '-m', 'A change'], folder);
      await mustGit(['push', '-q', 'origin', `HEAD:refs/heads/${branch}`], folder);
      return mustGit(['rev-parse', 'HEAD'], folder);
    },
  };
}

/** Every process on this machine with the environment of this app; `run` is the id of the instance or build. */
export function processesOf({ id }: Pick<NodeApp, 'id'>) {
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
    // The process has ended.
    return [];
  }
}
