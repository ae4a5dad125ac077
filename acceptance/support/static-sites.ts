import { expect } from 'bun:test';
import type * as shapes from '@svc/contract/static-sites.shapes.ts';
import type { z } from 'zod';
import { freePort } from '../../scripts/free-port.ts';
import { useFixture } from '../../scripts/use-fixture.ts';
import { svcAs } from './commands.ts';
import { newApp, uniqueName } from './people.ts';
import { newWorld } from './world.ts';

/** What `svc apps static deploy` prints. */
export type Release = z.output<typeof shapes.Release> & {
  pointer: string | null;
  url: string | null;
  uploaded: { files: number; bytes: number };
};

/** Static apps of one tenant for a test file, with the commands of owner and admin. */
export function useStaticSites() {
  const world = useFixture(newWorld);
  const asOwner = svcAs(() => [world.tenant, world.people.O]);
  const asAdmin = svcAs(() => [world.tenant, world.people.A]);

  async function newSite() {
    const slug = uniqueName('s');
    const fields = { name: slug, slug, subdomain: slug, deploy_method: 'static' };
    const { id } = await newApp(world.tenant, { owner: world.people.O }, fields);
    /** `svc apps static …` as the owner. */
    const svc = (...args: string[]) => asOwner(['apps', 'static', ...args, '--app', slug]);
    return {
      id,
      slug,
      svc,
      base: `${world.tenant.base}/apps/${slug}/static`,
      deploy: async (folder: string, ...args: string[]) => {
        const ran = await svc('deploy', '--from-dir', folder, '--execute', '--json', ...args);
        expect([ran.code, ran.stderr]).toEqual([0, expect.not.stringContaining('Error')]);
        return ran.json<Release>();
      },
    };
  }

  return { world, asOwner, asAdmin, newSite };
}

/** No server listens here: a command that gets as far as a request exits with 12. */
export const unreachableServer = { SVC_BASE_URL: `http://127.0.0.1:${freePort()}` };
