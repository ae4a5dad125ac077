import type { Letter } from '../document.ts';
import type { Reached } from '../reach.ts';
import { done } from '../rows-proof.ts';
import { createDraft, newRelease, type SiteFiles, sendMissing } from '../sites.ts';
import { newApp, type World } from '../world.ts';
import { newCoOwner } from './publications.ts';

const page: SiteFiles = { 'index.html': '<h1>Home</h1>' };

/** An app of O's with C as co-owner that has a site, and what is done there by whom. */
async function newSiteOf({ tenant, people }: World) {
  const { id } = await newApp(tenant, { owner: people.O, coOwner: people.C });
  const base = `${tenant.base}/apps/${id}/static`;
  const ground = { owner: people.O, base };
  const params = { tenantID: tenant.id, app: id };
  const move = (release: string, name: string, by = people.O) =>
    done(by.call('POST', `${base}/releases/${release}/${name}`));
  const deploy = async (files: SiteFiles = page) => newRelease(ground, files, { on_finalize: 'deploy' });
  return { base, ground, params, move, deploy };
}

const inSite = async (world: World): Promise<Reached> => ({ params: (await newSiteOf(world)).params });

const shown = async (world: World): Promise<Reached> => {
  const { params, deploy } = await newSiteOf(world);
  return { params: { ...params, release: (await deploy()).id } };
};

const finalized = async (world: World): Promise<Reached> => {
  const { params, ground } = await newSiteOf(world);
  return { params: { ...params, release: (await newRelease(ground, page)).id } };
};

const drafted = async (world: World): Promise<Reached> => {
  const { params, ground } = await newSiteOf(world);
  const draft = await createDraft(ground, page);
  await sendMissing(draft, page);
  return { params: { ...params, release: draft.id } };
};

async function staged(world: World): Promise<Reached & { site: Awaited<ReturnType<typeof newSiteOf>> }> {
  const site = await newSiteOf(world);
  await done(world.people.O.call('POST', `${site.base}/site/staging/enable`));
  const { id } = await newRelease(site.ground, page);
  await site.move(id, 'stage');
  return { params: { ...site.params, release: id }, site };
}

/** Asked for by an owner who is none of those that decide. */
const requested = async (world: World, _: Letter): Promise<Reached> => {
  const { params, site } = await staged(world);
  await site.move(params.release!, 'promote-request', await newCoOwner(world, site.params.app));
  return { params };
};

/** Static sites, by the ids of the OpenAPI document. */
export const staticSiteReach: Readonly<Record<string, (world: World, letter: Letter) => Promise<Reached>>> = {
  'sites.get': inSite,
  'sites.set': async (world) => ({ ...(await inSite(world)), body: { spa: true } }),
  'sites.enableStaging': inSite,
  'sites.disableStaging': async (world) => {
    const { release: _, ...params } = (await staged(world)).params;
    return { params };
  },
  'sites.unpublish': async (world) => {
    const { release: _, ...params } = (await shown(world)).params;
    return { params };
  },
  'releases.list': inSite,
  'releases.get': finalized,
  'releases.files': finalized,
  'releases.diff': finalized,
  // What is staged is for reviewers to read.
  'releases.file': async (world) => ({
    params: { ...(await staged(world)).params, '?path': 'index.html' },
  }),
  'releases.create': async (world) => ({
    ...(await inSite(world)),
    body: { files: [{ path: 'index.html', sha256: 'a'.repeat(64), size: 1 }] },
  }),
  'releases.grantUpload': drafted,
  'releases.finalize': drafted,
  'releases.stage': async (world) => {
    const site = await newSiteOf(world);
    await done(world.people.O.call('POST', `${site.base}/site/staging/enable`));
    return { params: { ...site.params, release: (await newRelease(site.ground, page)).id } };
  },
  'releases.activate': finalized,
  'releases.rollback': async (world) => {
    const { params, deploy } = await newSiteOf(world);
    const { id } = await deploy();
    await deploy({ 'index.html': 'newer' });
    return { params: { ...params, release: id } };
  },
  'releases.revoke': finalized,
  'releases.requestPromotion': async (world) => ({ params: (await staged(world)).params }),
  'releases.approvePromotion': requested,
  'releases.rejectPromotion': requested,
};
