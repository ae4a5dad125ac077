import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../server.ts';
import type { World } from '../world.ts';

/** The site of an app of the admin's; its co-owner can ask for what an admin decides. */
interface Site {
  world: World;
  app: string;
  url: string;
  /** `…/apps/<app>/static` */
  base: string;
}

type Inputs = (world: World) => Promise<string[]>;

export const staticSiteInputs: Readonly<Record<string, Inputs>> = {
  'apps static deploy': async (world) => [
    ...[...of(await newSite(world)), '--from-dir', siteFolder(), '--release-version', 'v1'],
  ],
  'apps static auth start': async (world) => {
    const site = await newSite(world);
    await activeRelease(site);
    return ['--target', `${site.url}some/page?of=it`, ...of(site)];
  },
  'apps static releases list': async (world) => of((await withRelease(world)).site),
  'apps static releases get': async (world) => (await withRelease(world)).line,
  'apps static releases files': async (world) => (await withRelease(world)).line,
  'apps static releases diff': async (world) => (await withRelease(world)).line,
  'apps static releases create': async (world) => [
    ...[...of(await newSite(world)), '--body-json', JSON.stringify(bodyOf(`<p>${Bun.randomUUIDv7()}`))],
  ],
  'apps static releases finalize': async (world) => {
    const site = await newSite(world);
    return [...of(site), '--release-id', await sentRelease(site)];
  },
  'apps static releases stage': async (world) => {
    const { site, line } = await withRelease(world);
    await move(site, 'site/staging/enable');
    return line;
  },
  'apps static releases activate': async (world) => (await withRelease(world)).line,
  'apps static releases revoke': async (world) => (await withRelease(world)).line,
  'apps static releases rollback': async (world) => {
    const site = await newSite(world);
    const first = await activeRelease(site);
    await activeRelease(site);
    return [...of(site), '--release-id', first];
  },
  'apps static releases promote-request': async (world) => [
    ...(await staged(world)).line,
    ...['--note', 'new prices'],
  ],
  'apps static releases promote-approve': async (world) => [
    ...(await requested(world)).line,
    ...['--note', 'looks right'],
  ],
  'apps static releases promote-reject': async (world) => [
    ...(await requested(world)).line,
    ...['--reason', 'the prices are wrong'],
  ],
  'apps static site get': async (world) => of((await withRelease(world)).site),
  'apps static site set': async (world) => [
    ...of(await newSite(world)),
    ...['--body-json', '{"spa":true,"redirects":[{"from":"/old/*","to":"/new/:splat"}]}'],
  ],
  'apps static site unpublish': async (world) => {
    const site = await newSite(world);
    await activeRelease(site);
    return of(site);
  },
  'apps static site staging enable': async (world) => of(await newSite(world)),
  'apps static site staging disable': async (world) => {
    const site = await newSite(world);
    await move(site, 'site/staging/enable');
    return of(site);
  },
};

const of = ({ app }: Site) => ['--app', app];

async function newSite(world: World): Promise<Site> {
  const { as, people, tenant } = world;
  const subdomain = `s-${Bun.randomUUIDv7().replaceAll('-', '').slice(-20)}`;
  const made = await as.A('POST', `${tenant.base}/apps`, { name: subdomain, subdomain });
  const { id } = made.body;
  const added = await as.A('POST', `${tenant.base}/apps/${id}/co-owners`, { user_id: people.C.id });
  if (added.status !== 201) throw new Error(`No site could be made: ${JSON.stringify(added.body)}`);
  const base = `${tenant.base}/apps/${id}/static`;
  return { world, app: id, base, url: (await as.A('GET', `${base}/site`)).body.url };
}

/** A draft whose one file has arrived. */
async function sentRelease({ world, base }: Site): Promise<string> {
  const text = `<p>${Bun.randomUUIDv7()}`;
  const made = await world.as.A('POST', `${base}/releases`, bodyOf(text));
  const { id, upload_url, missing } = made.body;
  const sent = await fetch(`${upload_url}${missing[0]}`, { method: 'PUT', body: text });
  if (!sent.ok) throw new Error(`A file could not be sent: ${await sent.text()}`);
  return id;
}

async function finalizedRelease(site: Site): Promise<string> {
  const id = await sentRelease(site);
  await move(site, `releases/${id}/finalize`);
  return id;
}

async function activeRelease(site: Site): Promise<string> {
  const id = await finalizedRelease(site);
  await move(site, `releases/${id}/activate`);
  return id;
}

async function withRelease(world: World) {
  const site = await newSite(world);
  const id = await finalizedRelease(site);
  return { site, id, line: [...of(site), '--release-id', id] };
}

async function staged(world: World) {
  const made = await withRelease(world);
  await move(made.site, 'site/staging/enable');
  await move(made.site, `releases/${made.id}/stage`);
  return made;
}

async function requested(world: World) {
  const made = await staged(world);
  await move(made.site, `releases/${made.id}/promote-request`, 'C');
  return made;
}

async function move({ world, base }: Site, what: string, by: 'A' | 'C' = 'A'): Promise<void> {
  const { status, body } = await world.as[by]('POST', `${base}/${what}`);
  if (status !== 200) throw new Error(`${what} answered ${status}: ${JSON.stringify(body)}`);
}

function bodyOf(text: string) {
  const sha256 = new Bun.CryptoHasher('sha256').update(text).digest('hex');
  return { files: [{ path: 'index.html', sha256, size: text.length }] };
}

function siteFolder(): string {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'a'));
  writeFileSync(join(folder, 'index.html'), `<p>${Bun.randomUUIDv7()}`);
  writeFileSync(join(folder, 'a/b.css'), 'b {}');
  return folder;
}
