import type { ObjectStore } from '../drivers/object-store/object-store.ts';
import type { RequestInfo } from '../plumbing/api.ts';
import type { Db } from '../plumbing/db.ts';
import { knowsEtag } from '../plumbing/etag.ts';
import { fail } from '../plumbing/problem.ts';
import { iconKey } from './rules.ts';
import { findIconRow } from './store.ts';

/** To everybody: icons are shown to people who have not signed in yet. What is at an address never changes. */
export async function serveIcon(
  { db, objects }: { db: Db; objects: ObjectStore },
  { id, request, info }: { id: string; request: Request; info: RequestInfo },
): Promise<Response> {
  const icon = await findIconRow(db, id);
  if (!icon) throw fail('not_found');
  const etag = `"${icon.sha256}"`;
  const headers = {
    'cache-control': 'public, max-age=31536000, immutable',
    etag,
    // Looked at by itself, it is an image in a page that may do nothing at all.
    'content-security-policy': "default-src 'none'; sandbox",
    'cross-origin-resource-policy': 'cross-origin',
  };
  if (knowsEtag(request.headers.get('if-none-match'), etag))
    return new Response(null, { status: 304, headers });
  const whole = { ...headers, 'content-type': icon.content_type, 'content-length': String(icon.size) };
  if (request.method === 'HEAD') return new Response(null, { headers: whole });
  const object = await objects.get(iconKey(icon));
  if (!object) {
    info.log.error({ icon: id }, 'the bytes of an icon are gone from the object store');
    throw fail('not_found');
  }
  return new Response(object.body, { headers: whole });
}
