import { beforeAll, expect } from 'bun:test';
import { type Svc, svcFor } from './commands.ts';
import { freePort } from './server.ts';
import { newWorld, type World } from './world.ts';

export interface Release {
  id: string;
  number: number;
  version: string;
  state: string;
  roles: string[];
  files: number;
  pointer: string | null;
  url: string | null;
  uploaded: { files: number; bytes: number };
}

interface Site {
  id: string;
  slug: string;
  base: string;
  /** `svc apps static …` as the owner. */
  svc(...args: string[]): ReturnType<Svc>;
  deploy(folder: string, ...args: string[]): Promise<Release>;
}

/** Static apps of one tenant for a test file, with the commands of owner and admin. */
export function useStaticSites() {
  const env = {} as { world: World; asOwner: Svc; asAdmin: Svc };
  beforeAll(async () => {
    const world = await newWorld();
    const { server, slug } = world.tenant;
    Object.assign(env, {
      world,
      asOwner: svcFor(server, { token: world.people.O.token, tenant: slug }),
      asAdmin: svcFor(server, { token: world.people.A.token, tenant: slug }),
    });
  });

  async function newSite(): Promise<Site> {
    const slug = `s-${Bun.randomUUIDv7().replaceAll('-', '').slice(-20)}`;
    const body = { name: slug, slug, subdomain: slug, deploy_method: 'static' };
    const created = await env.world.as.O('POST', `${env.world.tenant.base}/apps`, body);
    expect(created.status).toBe(201);
    const svc = (...args: string[]) => env.asOwner(['apps', 'static', ...args, '--app', slug]);
    return {
      id: created.body.id,
      slug,
      svc,
      base: `${env.world.tenant.base}/apps/${slug}/static`,
      deploy: async (folder, ...args) => {
        const ran = await svc('deploy', '--from-dir', folder, '--execute', '--json', ...args);
        expect([ran.code, ran.stderr]).toEqual([0, expect.not.stringContaining('Error')]);
        return ran.json<Release>();
      },
    };
  }

  return Object.assign(env, { newSite });
}

/** The text on stderr of a command that must fail like this. */
export async function expectFailure(ran: ReturnType<Svc>, exit: number, code: string): Promise<string> {
  const { code: ended, stdout, stderr } = await ran;
  expect([ended, stdout]).toEqual([exit, '']);
  expect(stderr).toContain(`(${code})`);
  return stderr;
}

/** No server listens here: a command that gets as far as a request exits with 12. */
export const nowhere = { SVC_BASE_URL: `http://127.0.0.1:${freePort()}` };
