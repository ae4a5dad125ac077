import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { blobKey } from '../../server/src/delivery/static-sites/blobs.ts';
import { keyPath } from '../../server/src/drivers/object-store/file-store.ts';
import type { Server } from '../rows/start-server.ts';
import { flag } from './flags.ts';
import { sha256 } from './publish-site.ts';
import { requestHost } from './request-host.ts';

const siteCount = flag('sites', 10_000);
const fewSites = Math.ceil(siteCount / 10);
const parallelVisits = 16;
const sizes = { 'index.html': 2_000, 'site.css': 4_000, 'site.js': 8_000 };
const growthMax = 0.1;
const passes = 5;
/** Garbage makes memory fluctuate under load; after a rest it shows what is retained. */
const restMs = 20_000;
const chunkSites = 500;

interface Site {
  host: string;
}

export async function measureMemory(server: Server): Promise<void> {
  const sites = await makeSites(server);
  const samples: number[] = [];
  const timer = setInterval(() => samples.push(resident(server.pid)), 500);
  const restingMemory = async () => {
    await Bun.sleep(restMs);
    return resident(server.pid);
  };
  await visit(server.port, sites.slice(0, 20));
  const before = await restingMemory();
  await visit(server.port, shuffle(sites.slice(0, fewSites)));
  const afterFew = await restingMemory();
  await visit(server.port, shuffle(sites.slice(fewSites)));
  const afterAll = await restingMemory();
  for (let pass = 1; pass < passes; pass++) await visit(server.port, shuffle(sites));
  const afterLast = await restingMemory();
  clearInterval(timer);
  const mb = (value: number) => `${value.toFixed(0)} MB`;
  const count = (value: number) => value.toLocaleString('en');
  console.log(
    `\n${count(siteCount)} sites of ${Object.keys(sizes).length} files, each asked for once in a pass in random order`,
  );
  console.log(
    `  at rest: before ${mb(before)}; after ${count(fewSites)} sites ${mb(afterFew)}; after all ${mb(afterAll)}; ` +
      `after ${passes} passes ${mb(afterLast)}; peak ${mb(Math.max(...samples))}`,
  );
  const growth = afterLast / afterAll - 1;
  console.log(
    `  growth from the first pass to the last: ${(growth * 100).toFixed(1)} %, goal < ${growthMax * 100} %: ${growth < growthMax ? 'PASS' : 'MISS'}`,
  );
  const perSite = ((afterLast - afterFew) * 1e6) / (siteCount - fewSites);
  console.log(`  per site beyond the first ${count(fewSites)}: ${(perSite / 1000).toFixed(1)} kB`);
}

async function visit(port: number, list: readonly Site[]): Promise<void> {
  let next = 0;
  const worker = async () => {
    for (let site = list[next++]; site; site = list[next++]) {
      for (const [path, size] of Object.entries(sizes)) {
        const address = path === 'index.html' ? '/' : `/${path}`;
        const answer = await requestHost(port, address, { Host: site.host });
        if (answer.status !== 200 || answer.bytes !== size)
          throw new Error(`${site.host}${address}: ${answer.status}, ${answer.bytes} bytes.`);
      }
    }
  };
  await Promise.all(Array.from({ length: parallelVisits }, worker));
}

/** Writes directly to the database and the blob folder, in the state that ten thousand deployments would leave. */
async function makeSites(server: Server): Promise<Site[]> {
  const [tenant] = await server.sql<{ id: string; owner: string }>(
    `select t.id, u.id as owner from svc.tenants t, svc.users u where t.slug = 'demo' and u.email = 'admin@demo.localhost'`,
  );
  if (!tenant) throw new Error('There is no tenant demo.');
  const keys = join(server.folder, 'data', 'objects', 'keys');
  const sites: Site[] = [];
  for (let start = 0; start < siteCount; start += chunkSites) {
    const apps: string[] = [];
    const files: string[] = [];
    for (let at = start; at < Math.min(siteCount, start + chunkSites); at++) {
      const [app, release, name] = [Bun.randomUUIDv7(), Bun.randomUUIDv7(), `site-${at}`];
      apps.push(`('${app}'::uuid, '${release}'::uuid, '${name}')`);
      sites.push({ host: `${name}.apps.localhost` });
      for (const [path, size] of Object.entries(sizes)) {
        const bytes = Buffer.alloc(size, `${name}/${path} `);
        const blob = Bun.randomUUIDv7();
        files.push(
          `('${app}'::uuid, '${release}'::uuid, '${path}', '${sha256(bytes)}', ${size}, '${blob}'::uuid)`,
        );
        const file = join(keys, keyPath(blobKey({ tenantId: tenant.id, appId: app }, blob)));
        mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
        writeFileSync(file, bytes, { mode: 0o600 });
      }
    }
    await server.sql(insertSql(tenant, apps, files));
  }
  await server.sql('vacuum analyze svc.apps, svc.static_files, svc.static_blobs');
  return sites;
}

const insertSql = (tenant: { id: string; owner: string }, apps: string[], files: string[]) => `
  begin;
  create temporary table made_sites on commit drop as select * from (values ${apps}) v (app, release, name);
  create temporary table made_files on commit drop as
    select * from (values ${files}) v (app, release, path, sum, size, blob);
  insert into svc.apps (id, tenant_id, slug, subdomain, name, owner_id, owner_since, visibility, deploy_method, runtime, is_deployed, created_at, updated_at)
    select app, '${tenant.id}', name, name, name, '${tenant.owner}', now(), 'internet', 'static', 'running', true, now(), now() from made_sites;
  insert into svc.static_sites (app_id, tenant_id, is_published, created_at, updated_at)
    select app, '${tenant.id}', true, now(), now() from made_sites;
  insert into svc.static_releases (id, app_id, tenant_id, number, state, manifest_sha256, files, bytes, on_finalize, created_by, created_at, finalized_at, activated_at)
    select release, app, '${tenant.id}', 1, 'finalized', repeat('0', 64), ${Object.keys(sizes).length}, 1, 'deploy', '${tenant.owner}', now(), now(), now() from made_sites;
  update svc.static_sites s set active_release_id = m.release from made_sites m where m.app = s.app_id;
  insert into svc.static_files (release_id, path, sha256, size) select release, path, sum, size from made_files;
  insert into svc.static_blobs (app_id, tenant_id, sha256, size, blob_id, stored_at)
    select app, '${tenant.id}', sum, size, blob, now() from made_files;
  commit`;

function shuffle<T>(list: readonly T[]): T[] {
  const mixed = [...list];
  for (let at = mixed.length - 1; at > 0; at--) {
    const other = Math.floor(Math.random() * (at + 1));
    [mixed[at], mixed[other]] = [mixed[other] as T, mixed[at] as T];
  }
  return mixed;
}

function resident(pid: number): number {
  const text = readFileSync(`/proc/${pid}/status`, 'utf8');
  return (Number(/^VmRSS:\s+(\d+) kB/m.exec(text)?.[1]) * 1024) / 1e6;
}
