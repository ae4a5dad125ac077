import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { databaseUrlOf } from '../database.ts';
import type { Letter } from '../document.ts';
import { pageRepository } from '../git-repos.ts';
import type { Person } from '../people.ts';
import type { Reached } from '../reach.ts';
import { newApp, type World } from '../world.ts';

type Reach = (world: World, letter: Letter) => Promise<Reached> | Reached;
const inTenant: Reach = ({ tenant }) => ({ params: { tenantID: tenant.id } });

export const gitReach: Readonly<Record<string, Reach>> = {
  'gitHost.accounts': inTenant,
  'gitHost.unlink': async (world, letter) => ({
    params: { tenantID: world.tenant.id, account: await plantedLink(world, world.ownerFor(letter)) },
  }),
  'gitHost.startLink': inTenant,
  'gitHost.pollLink': async (world, letter) => ({
    params: { tenantID: world.tenant.id },
    body: { device_code: await deviceCode(world, world.ownerFor(letter)) },
  }),
  'gitHost.installations': inTenant,
  'gitHost.repositories': async (world, letter) => ({
    params: {
      tenantID: world.tenant.id,
      installation: String(await installationOf(world, world.ownerFor(letter))),
    },
  }),
  'gitHost.complete': async (world, letter) => {
    const person = world.ownerFor(letter);
    const { id } = await newApp(world.tenant, { owner: person, coOwner: person });
    const repo = await emptyRepo(world, person);
    const begun = await person.call('POST', `${world.tenant.base}/apps/${id}/git/begin`, { repo });
    return { params: { tenantID: world.tenant.id }, body: { state: begun.body.state } };
  },
  'gitHost.detect': async (world, letter) => ({
    params: {
      tenantID: world.tenant.id,
      '?repo': await pageRepository(world.tenant, world.ownerFor(letter)),
    },
  }),
  'git.status': ({ tenant, app }) => ({ params: { tenantID: tenant.id, app: app.id } }),
  'git.connect': async (world, letter) => ({
    params: await spareApp(world),
    body: { repo: await emptyRepo(world, world.ownerFor(letter)) },
  }),
  'git.begin': async (world) => ({ params: await spareApp(world), body: {} }),
  'git.update': async (world) => ({ params: await connectedApp(world), body: { branch: 'other' } }),
  'git.disconnect': async (world) => ({ params: await connectedApp(world) }),
};

async function spareApp(world: World): Promise<{ tenantID: string; app: string }> {
  const { id } = await newApp(world.tenant, { owner: world.people.O, coOwner: world.people.C });
  return { tenantID: world.tenant.id, app: id };
}

/** A private app of O and C that is deployed from a repository of O's. */
export async function connectedApp(world: World): Promise<{ tenantID: string; app: string }> {
  const params = await spareApp(world);
  const repo = await emptyRepo(world, world.people.O);
  const made = await world.people.O.call('POST', `${world.tenant.base}/apps/${params.app}/git`, { repo });
  if (made.status !== 201) throw new Error(`It could not be connected: ${JSON.stringify(made.body)}`);
  return params;
}

/** A repository of the person's with nothing in it; the host knows them and their installation from then on. */
export async function emptyRepo(world: World, person: Person): Promise<string> {
  const name = `r-${Bun.randomUUIDv7().replaceAll('-', '').slice(-16)}`;
  const { slug } = world.tenant;
  const made = await person.call('POST', `/git/api/v3/orgs/${slug}/repos`, { name, private: true });
  if (made.status !== 201) throw new Error(`No repository was made: ${JSON.stringify(made.body)}`);
  await installationOf(world, person);
  return `${slug}/${name}`;
}

async function installationOf(world: World, person: Person): Promise<number> {
  const { status, body } = await person.call('GET', `${world.tenant.base}/git-host/installations`);
  if (status !== 200) throw new Error(`No installations: ${JSON.stringify(body)}`);
  return body.items.find(({ account }: { account: string }) => account === world.tenant.slug).id;
}

export async function deviceCode(world: World, person: Person): Promise<string> {
  const { status, body } = await person.call('POST', `${world.tenant.base}/git-host/link`);
  if (status !== 201) throw new Error(`No code: ${JSON.stringify(body)}`);
  return body.device_code;
}

/** As if an account at some other host had been linked: only a browser could do it in another way. */
export async function plantedLink(world: World, person: Person): Promise<string> {
  const { server, id: tenantId } = world.tenant;
  const client = new pg.Client({ connectionString: server.env.SVC_DATABASE_URL || databaseUrlOf(server) });
  await client.connect();
  const id = Bun.randomUUIDv7();
  await client.query(
    `insert into svc.git_links (id, tenant_id, user_id, host, account_id, login, kind, token_sealed, linked_at)
     values ($1, $2, $3, $4, 1, 'octocat', 'user', $5, now())`,
    [id, tenantId, person.id, `https://git.example/${id}`, randomBytes(60)],
  );
  await client.end();
  return id;
}
