import { appWithDomain } from '../reach/domains.ts';
import { newApp, type World } from '../world.ts';

export const domainInputs: Readonly<Record<string, (world: World) => Promise<string[]> | string[]>> = {
  'apps domains list': async (world) => ['--app', (await adminsDomain(world)).app],
  'apps domains add': async ({ tenant, people }) => {
    const { slug } = await newApp(tenant, { owner: people.A, coOwner: people.C });
    return [`www.${slug}.invalid`, '--app', slug];
  },
  'apps domains remove': async (world) => namedBy(await adminsDomain(world)),
  'apps domains verify': async (world) => namedBy(await adminsDomain(world)),
};

const adminsDomain = (world: World) => appWithDomain(world, world.people.A);
const namedBy = ({ app, domain }: { app: string; domain: string }) => [domain, '--app', app];
