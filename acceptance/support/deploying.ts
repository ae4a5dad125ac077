import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Answered, Person } from './people.ts';
import { temporaryFolder } from './server.ts';
import { until } from './until.ts';
import type { World } from './world.ts';

export type SourceFiles = Readonly<Record<string, string>>;

export const staticSource = (): SourceFiles => ({ 'index.html': `<h1>${Bun.randomUUIDv7()}</h1>` });
/** A build that takes long enough to be stopped. */
export const slowSource = (): SourceFiles => ({
  ...staticSource(),
  'svc.yaml': 'build:\n  command: sleep 5\nstatic:\n  dir: .\n',
});

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

/** The id of a deployment that is live. */
export async function liveDeployment(app: DeployedApp, files: SourceFiles): Promise<string> {
  const id = await begunDeployment(app, files);
  await until(
    'the deployment is live',
    async () => {
      const { body } = await app.owner.call('GET', `${app.base}/deployments/${id}`);
      if (body.state === 'failed') throw new Error(`It failed: ${JSON.stringify(body.failure)}`);
      return body.state === 'live';
    },
    60_000,
  );
  return id;
}

function succeeded(answered: Answered): Answered {
  if (answered.status >= 300)
    throw new Error(`It answered ${answered.status}: ${JSON.stringify(answered.body)}`);
  return answered;
}
