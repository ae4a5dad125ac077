import { createHash } from 'node:crypto';
import { createApp, type Server } from '../rows/start-server.ts';

export interface PublishedSite {
  appId: string;
  host: string;
}

interface Draft {
  id: string;
  missing: string[];
  upload_url: string;
}

export async function publishSite(
  server: Server,
  slug: string,
  files: Readonly<Record<string, Uint8Array<ArrayBuffer>>>,
): Promise<PublishedSite> {
  const { base } = await createApp(server, slug);
  const hashes = new Map(Object.entries(files).map(([path, bytes]) => [path, sha256(bytes)]));
  const draft = await server.call<Draft>('POST', `${base}/static/releases`, {
    on_finalize: 'deploy',
    files: Object.entries(files).map(([path, bytes]) => ({
      path,
      sha256: hashes.get(path),
      size: bytes.byteLength,
    })),
  });
  for (const [path, bytes] of Object.entries(files)) {
    const hash = hashes.get(path) ?? '';
    if (!draft.missing.includes(hash)) continue;
    const response = await fetch(draft.upload_url + hash, { method: 'PUT', body: bytes });
    if (!response.ok) throw new Error(`${path} was rejected: ${response.status} ${await response.text()}`);
  }
  await server.call('POST', `${base}/static/releases/${draft.id}/finalize`);
  const [app] = await server.sql<{ id: string; subdomain: string }>(
    `update svc.apps set visibility = 'internet' where slug = '${slug}' returning id, subdomain`,
  );
  if (!app) throw new Error(`There is no app ${slug}.`);
  return { appId: app.id, host: `${app.subdomain}.apps.localhost` };
}

export const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
