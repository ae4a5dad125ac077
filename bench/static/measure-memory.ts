import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathOfKey } from '../../server/src/drivers/object-store/file-layout.ts';
import { blobKey } from '../../server/src/static-sites/blob-key.ts';
import type { Server } from '../rows/start-server.ts';
import { askHost } from './ask-host.ts';
import { flag } from './flags.ts';
import { sha256 } from './publish-site.ts';

const sites = flag('sites', 10_000);
const few = Math.ceil(sites / 10);
const atOnce = 16;
/** By path, with how many bytes; together more than what is kept in memory of so many sites. */
const sizes = { 'index.html': 2_000, 'site.css': 4_000, 'site.js': 8_000 };
const growthMost = 0.1;
const passes = 5;
/** Under load memory goes up and down by what is not collected yet; left alone, it says what is kept. */
const restMs = 20_000;
const chunkSites = 500;

interface MadeSite {
  host: string;
}

/** Resident memory of the server after a tenth of the sites, after all, and after all again and again. */
export async function measureMemory(server: Server): Promise<void> {
  const made = await makeSites(server);
  const samples: number[] = [];
  const timer = setInterval(() => samples.push(resident(server.pid)), 500);
  const atRest = async () => {
    await Bun.sleep(restMs);
    return resident(server.pid);
  };
  await visit(server.port, made.slice(0, 20));
  const before = await atRest();
  await visit(server.port, shuffled(made.slice(0, few)));
  const afterFew = await atRest();
  await visit(server.port, shuffled(made.slice(few)));
  const afterAll = await atRest();
  for (let pass = 1; pass < passes; pass++) await visit(server.port, shuffled(made));
  const afterLast = await atRest();
  clearInterval(timer);
  const mb = (value: number) => `${value.toFixed(0)} MB`;
  const count = (value: number) => value.toLocaleString('en');
  console.log(
    `\n${count(sites)} sites of ${Object.keys(sizes).length} files, each asked for once in a pass in random order`,
  );
  console.log(
    `  at rest: before ${mb(before)}; after ${count(few)} sites ${mb(afterFew)}; after all ${mb(afterAll)}; ` +
      `after ${passes} passes ${mb(afterLast)}; peak ${mb(Math.max(...samples))}`,
  );
  const growth = afterLast / afterAll - 1;
  console.log(
    `  growth from the first pass to the last: ${(growth * 100).toFixed(1)} %, goal < ${growthMost * 100} %: ${growth < growthMost ? 'PASS' : 'MISS'}`,
  );
  const perSite = ((afterLast - afterFew) * 1e6) / (sites - few);
  console.log(`  per site beyond the first ${count(few)}: ${(perSite / 1000).toFixed(1)} kB`);
}

async function visit(port: number, list: readonly MadeSite[]): Promise<void> {
  let next = 0;
  const worker = async () => {
    for (let site = list[next++]; site; site = list[next++]) {
      for (const [path, size] of Object.entries(sizes)) {
        const address = path === 'index.html' ? '/' : `/${path}`;
        const answer = await askHost(port, address, { Host: site.host });
        if (answer.status !== 200 || answer.bytes !== size)
          throw new Error(`${site.host}${address}: ${answer.status}, ${answer.bytes} bytes.`);
      }
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

/** Straight into the database and the store's folder, as ten thousand deployments would leave them. */
async function makeSites(server: Server): Promise<MadeSite[]> {
  const [tenant] = await server.sql<{ id: string; owner: string }>(
    `select t.id, u.id as owner from svc.tenants t, svc.users u where t.slug = 'demo' and u.email = 'admin@demo.localhost'`,
  );
  if (!tenant) throw new Error('There is no tenant demo.');
  const keys = join(server.folder, 'data', 'objects', 'keys');
  const made: MadeSite[] = [];
  for (let begun = 0; begun < sites; begun += chunkSites) {
    const apps: string[] = [];
    const files: string[] = [];
    for (let at = begun; at < Math.min(sites, begun + chunkSites); at++) {
      const [app, release, name] = [Bun.randomUUIDv7(), Bun.randomUUIDv7(), `site-${at}`];
      apps.push(`('${app}'::uuid, '${release}'::uuid, '${name}')`);
      made.push({ host: `${name}.apps.localhost` });
      for (const [path, size] of Object.entries(sizes)) {
        const bytes = Buffer.alloc(size, `${name}/${path} `);
        const blob = Bun.randomUUIDv7();
        files.push(
          `('${app}'::uuid, '${release}'::uuid, '${path}', '${sha256(bytes)}', ${size}, '${blob}'::uuid)`,
        );
        const file = join(keys, pathOfKey(blobKey({ tenantId: tenant.id, appId: app }, blob)));
        mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
        writeFileSync(file, bytes, { mode: 0o600 });
      }
    }
    await server.sql(insertSql(tenant, apps, files));
  }
  await server.sql('vacuum analyze svc.apps, svc.static_files, svc.static_blobs');
  return made;
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

function shuffled<T>(list: readonly T[]): T[] {
  const mixed = [...list];
  for (let at = mixed.length - 1; at > 0; at--) {
    const other = Math.floor(Math.random() * (at + 1));
    [mixed[at], mixed[other]] = [mixed[other] as T, mixed[at] as T];
  }
  return mixed;
}

/** In units of 1,000,000 bytes. */
function resident(pid: number): number {
  const text = readFileSync(`/proc/${pid}/status`, 'utf8');
  return (Number(/^VmRSS:\s+(\d+) kB/m.exec(text)?.[1]) * 1024) / 1e6;
}
