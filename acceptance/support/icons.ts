import { expect } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { useFixture } from '../../scripts/use-fixture.ts';
import { svcAs, svcFor } from './commands.ts';
import { newApp, type Person } from './people.ts';
import { temporaryFolder } from './server.ts';
import { newWorld } from './world.ts';

export const iconBytesMax = 2 * 1024 * 1024;

export interface Signed {
  put_url: string;
  icon_url: string;
  content_type: string;
  variant: string;
  bytes_max: number;
  expires_at: string;
  plan: { operation: string; fingerprint: string; changes: object[] };
}
export interface Uploaded extends Signed {
  uploaded: boolean;
  app: string;
  app_id: string;
  width: number;
  height: number;
}

/** Apps of one tenant for a test file; `svc` is the owner's. */
export function useIcons() {
  const world = useFixture(newWorld);
  const svc = svcAs(() => [world.tenant, world.people.O]);
  const as = ({ token }: Person) => svcFor(world.tenant.server, { token, tenant: world.tenant.slug });
  const ownApp = () => newApp(world.tenant, { owner: world.people.O, coOwner: world.people.C });

  async function icons(app: string): Promise<{ icon_url: string | null; icon_dark_url: string | null }> {
    const { body } = await world.as.O('GET', `${world.tenant.base}/apps/${app}`);
    return { icon_url: body.icon_url, icon_dark_url: body.icon_dark_url };
  }

  async function signed(app: string, by: Person = world.people.O, type = 'image/png'): Promise<Signed> {
    const path = `${world.tenant.base}/apps/${app}/icon/upload-url`;
    const { status, body } = await by.call('POST', path, { content_type: type });
    expect([status, body.content_type]).toEqual([200, type]);
    return body;
  }

  return { world, svc, as, ownApp, icons, signed };
}

export function fileOf(bytes: Uint8Array | string, name = 'icon.png'): string {
  const path = join(temporaryFolder(), name);
  writeFileSync(path, bytes);
  return path;
}

export async function put(url: string, body: BodyInit, headers: Record<string, string> = {}) {
  const response = await fetch(url, { method: 'PUT', body, headers });
  return { status: response.status, body: (await response.json()) as { code?: string; icon_url?: string } };
}
