import { previewOf, problem, type Seen } from './answers.ts';
import type { FakeServer } from './fake-server.ts';

interface Draft {
  files: { path: string; sha256: string }[];
  config?: unknown;
  version?: string;
}

export type FakeRelease = ReturnType<typeof acceptReleases>;

type Instead = Response | undefined;

const id = '0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c';

/** Makes the server accept releases as the real one does. */
export function acceptReleases(fake: FakeServer) {
  const state = {
    /** Hashes of the files that have arrived. */
    stored: new Set<string>(),
    draft: null as Draft | null,
    /** The hash of every upload, including rejected ones. */
    sent: [] as string[],
    grants: 0,
    pointer: 'active' as 'active' | 'staged' | null,
    url: 'http://shop.apps.localhost:4400/' as string | null,
    number: 4,
    state: 'draft' as 'draft' | 'finalized',
    /** Numbers of the releases that the site shows. */
    shown: {} as { active?: number; staged?: number },
    changed: undefined as false | undefined,
    /** These replace the usual answer, where they return one. */
    onUpload: undefined as ((sum: string, seen: Seen) => Instead | Promise<Instead>) | undefined,
    onFinalize: undefined as (() => Instead) | undefined,
  };
  const missing = () => {
    const sums = new Set(state.draft?.files.map(({ sha256 }) => sha256));
    return [...sums].filter((sum) => !state.stored.has(sum));
  };
  const grant = (status: number) => {
    const upload_url = `${fake.url}/uploads/token-${state.grants}/`;
    const expiry = { missing_bytes: 1, upload_expires_at: '2031-05-01T12:00:00.000Z' };
    return Response.json({ id, missing: missing(), ...expiry, upload_url }, { status });
  };
  const releaseRef = (number?: number) => (number === undefined ? null : { id, number });
  const upload = (sum: string, { body }: Seen) => {
    if (new Bun.CryptoHasher('sha256').update(body).digest('hex') !== sum) return problem('digest_mismatch');
    state.stored.add(sum);
    return new Response(null, { status: 204 });
  };
  fake.intercept = async (_request, seen) => {
    const { method, path } = seen;
    const last = path.slice(path.lastIndexOf('/') + 1);
    if (path.startsWith('/uploads/')) {
      state.sent.push(last);
      return (await state.onUpload?.(last, seen)) ?? upload(last, seen);
    }
    const { draft, pointer, url, number } = state;
    if (method === 'GET' && path.endsWith('/static/site'))
      return Response.json({
        active_release: releaseRef(state.shown.active),
        staged_release: releaseRef(state.shown.staged),
      });
    if (!path.includes('/static/releases')) return undefined;
    if (method === 'GET' && last !== 'releases') return Response.json({ id, number, state: state.state });
    if (method !== 'POST') return undefined;
    if (seen.query.get('dry_run') === 'true') return Response.json(previewOf('releases.create'));
    if (last === 'releases') {
      state.draft = JSON.parse(seen.body);
      return grant(201);
    }
    if (last === 'upload-grant') {
      state.grants += 1;
      return grant(200);
    }
    const replaced = state.onFinalize?.();
    if (replaced !== undefined) return replaced;
    if (missing().length > 0) return problem('release_incomplete');
    const files = draft?.files.length;
    const content = { version: draft?.version ?? '', state: 'finalized', roles: [], bytes: 12, files };
    return Response.json({ id, number, ...content, pointer, url: pointer && url, changed: state.changed });
  };
  return state;
}
