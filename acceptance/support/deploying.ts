import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { onDatabase } from './app-runtime.ts';
import type { Answered, Person } from './people.ts';
import { temporaryFolder } from './server.ts';
import { newRelease } from './sites.ts';
import type { World } from './world.ts';

export type SourceFiles = Readonly<Record<string, string>>;

export const staticSource = (): SourceFiles => ({ 'index.html': `<h1>${Bun.randomUUIDv7()}</h1>` });

/** A folder with these files. */
export function sourceFolder(files: SourceFiles): string {
  const folder = temporaryFolder();
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
}

export interface DeployedApp {
  id: string;
  /** `/api/v1/tenants/<tenant>/apps/<app>` */
  base: string;
  owner: Person;
}

/** An app of the person's own; C is its co-owner unless they are the same. */
export async function newDeployedApp(
  { tenant, people }: World,
  owner: Person,
  set: Record<string, unknown> = { deploy_method: 'static' },
): Promise<DeployedApp> {
  const name = `d-${Bun.randomUUIDv7().replaceAll('-', '').slice(-20)}`;
  const made = succeeded(await owner.call('POST', `${tenant.base}/apps`, { name, subdomain: name, ...set }));
  const base = `${tenant.base}/apps/${made.body.id}`;
  if (owner.id !== people.C.id)
    succeeded(await owner.call('POST', `${base}/co-owners`, { user_id: people.C.id }));
  return { id: made.body.id, base, owner };
}

/**
 * An app whose deployments wait: another copy of the server, as far as can be seen, works on one. So nothing happens by
 * itself while a test looks. `earlier` is one that was live before.
 */
export async function newWaitingApp(world: World, owner: Person): Promise<DeployedApp & { earlier: string }> {
  const app = await newDeployedApp(world, owner);
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
  await onDatabase(world.tenant.server, text, [app.id, earlier, held, release.id]);
  return { ...app, earlier };
}

/** The id of an upload that has arrived. */
export async function uploadedSource({ base, owner }: DeployedApp, files: SourceFiles): Promise<string> {
  const { body } = succeeded(await owner.call('POST', `${base}/sources`));
  const archive = await new Bun.Archive({ ...files }, { compress: 'gzip' }).bytes();
  const sent = await fetch(body.put_url, { method: 'PUT', body: new Uint8Array(archive) });
  if (sent.status !== 201) throw new Error(`Source was not taken: ${await sent.text()}`);
  return body.upload_id;
}

/** The id of a deployment that has begun. */
export async function begunDeployment(app: DeployedApp, files: SourceFiles): Promise<string> {
  const upload_id = await uploadedSource(app, files);
  return succeeded(await app.owner.call('POST', `${app.base}/deployments`, { upload_id })).body.id;
}

function succeeded(answered: Answered): Answered {
  if (answered.status >= 300)
    throw new Error(`It answered ${answered.status}: ${JSON.stringify(answered.body)}`);
  return answered;
}
