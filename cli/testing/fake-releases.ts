import { problem } from './fake-problem.ts';
import type { FakeServer, Seen } from './fake-server.ts';

/** What the server knows of one release, and how it behaves. */
export interface FakeRelease {
  /** Sums that have arrived. */
  stored: Set<string>;
  /** The body of the latest draft. */
  draft: { files: { path: string; sha256: string }[]; config?: unknown; version?: string } | null;
  /** How often each sum was sent, refused ones too. */
  sent: string[];
  grants: number;
  pointer: 'active' | 'staged' | null;
  url: string | null;
  /** The one release that a list has; its state before anything is sent. */
  number: number;
  state: 'draft' | 'finalized';
  /** What the site leads to, by number. */
  shown: { active?: number; staged?: number };
  /** The same was there already. */
  changed?: false;
  /** Answers instead, when it returns one. */
  onUpload?: (sum: string, seen: Seen) => Response | undefined | Promise<Response | undefined>;
  onFinalize?: () => Response | undefined;
}

const id = '0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c';

/** A server that takes releases as the real one does. */
export function takeReleases(fake: FakeServer): FakeRelease {
  const state: FakeRelease = {
    ...{ stored: new Set(), draft: null, sent: [], grants: 0, pointer: 'active' },
    url: 'http://shop.apps.localhost:4400/',
    ...{ number: 4, state: 'draft', shown: {} },
  };
  const missing = () => [
    ...new Set(
      (state.draft?.files ?? []).map(({ sha256 }) => sha256).filter((sum) => !state.stored.has(sum)),
    ),
  ];
  const granted = () => ({
    ...{ id, missing: missing(), missing_bytes: 1, upload_expires_at: '2031-05-01T12:00:00.000Z' },
    upload_url: `${fake.url}/uploads/token-${state.grants}/`,
  });
  fake.intercept = async (_request, seen) => {
    if (seen.path.startsWith('/uploads/')) {
      const sum = seen.path.slice(seen.path.lastIndexOf('/') + 1);
      state.sent.push(sum);
      const odd = await state.onUpload?.(sum, seen);
      if (odd !== undefined) return odd;
      if (new Bun.CryptoHasher('sha256').update(seen.body).digest('hex') !== sum)
        return problem('digest_mismatch');
      state.stored.add(sum);
      return new Response(null, { status: 204 });
    }
    if (seen.method === 'GET' && seen.path.endsWith('/static/site')) return Response.json(siteOf(state));
    if (seen.method === 'GET' && seen.path.includes('/static/releases/'))
      return Response.json({ id, number: state.number, state: state.state });
    if (!seen.path.includes('/static/releases') || seen.method !== 'POST') return undefined;
    if (seen.query.get('dry_run') === 'true') return Response.json(previewOf(seen));
    if (seen.path.endsWith('/releases')) {
      state.draft = JSON.parse(seen.body);
      return Response.json(granted(), { status: 201 });
    }
    if (seen.path.endsWith('/upload-grant')) {
      state.grants += 1;
      return Response.json(granted());
    }
    const odd = state.onFinalize?.();
    if (odd !== undefined) return odd;
    if (missing().length > 0) return problem('release_incomplete');
    return Response.json(finalizedOf(state));
  };
  return state;
}

function previewOf({ body }: Seen) {
  const { files } = JSON.parse(body) as { files: unknown[] };
  const plan = {
    operation: 'releases.create',
    target: { kind: 'release', id: '(assigned on execution)', name: '1' },
    changes: [{ path: 'files', before: null, after: files.length, effect: 'create' }],
    ...{ warnings: [], irreversible: false, fingerprint: 'f1f2f3' },
  };
  return { dry_run: true, plan };
}

function siteOf({ shown: { active, staged } }: FakeRelease) {
  const release = (number: number | undefined) => (number === undefined ? null : { id, number });
  return { active_release: release(active), staged_release: release(staged) };
}

function finalizedOf({ draft, pointer, url, number, changed }: FakeRelease) {
  return {
    ...{ id, number, version: draft?.version ?? '', state: 'finalized', roles: [], bytes: 12 },
    ...{ files: draft?.files.length, pointer, url: pointer && url },
    ...(changed === false && { changed }),
  };
}
