import { expect } from 'bun:test';
import { existsSync, readdirSync } from 'node:fs';
import { svcFor } from './commands.ts';
import { newApp, newTenant, type Tenant } from './people.ts';
import type { RunningServer } from './server.ts';

export type StorageApp = Awaited<ReturnType<typeof newStorageApp>>;

export async function newStorageApp(on?: RunningServer, within?: Tenant) {
  const tenant = within ?? (await newTenant(on));
  const owner = tenant.member;
  const app = await newApp(tenant, { owner, coOwner: tenant.admin });
  const svc = svcFor(tenant.server, { token: owner.token, tenant: tenant.slug });
  /** `svc apps storage … --app …` as the owner. */
  const storage = (...args: string[]) => svc(['apps', 'storage', ...args, '--app', app.slug]);
  expect((await storage('enable', '--execute')).code).toBe(0);
  return { tenant, owner, app, svc, storage, base: `${tenant.base}/apps/${app.id}/storage` };
}

export async function signUpload({ owner, base }: StorageApp, key: string): Promise<string> {
  const { status, body } = await owner.call('POST', `${base}/upload-url`, { key });
  expect([status, typeof body.put_url]).toEqual([200, 'string']);
  return body.put_url;
}

const octets = { 'content-type': 'application/octet-stream' };
export const put = (url: string, body: BodyInit) => fetch(url, { method: 'PUT', headers: octets, body });
export const listKeys = async ({ owner, base }: StorageApp) =>
  (await owner.call('GET', `${base}/objects`)).body.items.map(({ key }: { key: string }) => key) as string[];
export const filesOf = (folder: string) =>
  existsSync(folder)
    ? readdirSync(folder, { recursive: true, withFileTypes: true }).filter((it) => it.isFile())
    : [];
