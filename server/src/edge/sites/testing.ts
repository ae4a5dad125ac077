import type { SiteConfig } from '@svc/contract/site-config.ts';
import { sha256 } from '../../core/values.ts';
import { type BlobEncoding, blobKey } from '../../delivery/static-sites/blobs.ts';
import type { Edge, EdgeRequest } from '../../http/edge-request.ts';
import { silentLog } from '../../testing.ts';
import type { Visitors } from '../visitors/visitors.ts';
import { compileConfig } from './compile-config.ts';
import { createPreparedFiles } from './prepare-file.ts';
import { createBlobCache, type FileSource } from './serve-release.ts';
import type { SiteFile, SiteSnapshot } from './site-cache.ts';

/** What an edge needs beside its sites: nobody may visit, and there are no custom domains. */
export const edgeDefaults = {
  baseUrl: 'http://svc.test',
  appsDomain: 'apps.test',
  visitors: {
    isVisitor: () => false,
    findVisitor: async () => null,
    redirectToSignIn: () => ({ status: 303, headers: { location: '/sign-in' }, body: null }),
    platformPath: () => null,
  } satisfies Visitors as Visitors,
  domains: { has: (_host: string) => false },
  challengeLookup: async () => null,
  secureOrigin: () => null,
  sdkModule: async () => new Uint8Array(),
  log: silentLog,
  count: () => {},
  countApp: () => {},
  sleep: {
    wake: async (_appId: string) => {},
    waitForChange: (_appId: string, ms: number) => Bun.sleep(Math.min(ms, 20)),
    recordActivity: async (_appIds: readonly string[]) => {},
    activityEveryMs: 20,
  },
};

export type TestSite = ReturnType<typeof testSite>;

/** A site in memory with the bytes of its files; those of other encodings are arbitrary. */
export function testSite(
  files: Readonly<Record<string, string | { text: string; br?: string; gzip?: string }>>,
  options: { config?: SiteConfig; hostKind?: SiteSnapshot['hostKind']; isOpen?: boolean } = {},
) {
  const { config = {}, hostKind = 'app', isOpen = true } = options;
  const site = { appId: Bun.randomUUIDv7(), tenantId: Bun.randomUUIDv7(), hostKind, isOpen };
  const stored = new Map<string, Uint8Array>();
  const list = new Map<string, SiteFile>();
  for (const [path, file] of Object.entries(files)) {
    const { text, br, gzip } = typeof file === 'string' ? { text: file } : file;
    const blobId = Bun.randomUUIDv7();
    const put = (encoding: BlobEncoding, body = '') => {
      const bytes = new TextEncoder().encode(body);
      stored.set(blobKey(site, blobId, encoding), bytes);
      return bytes.length || null;
    };
    const [size, gzipSize, brotliSize] = [put('identity', text) ?? 0, put('gzip', gzip), put('br', br)];
    list.set(path, { path, blobId, tag: `"${sha256(text).slice(0, 32)}`, size, gzipSize, brotliSize });
  }
  let looks = 0;
  const get: FileSource['get'] = async (key, range) => {
    looks++;
    const bytes = stored.get(key);
    if (!bytes) return null;
    const part = range ? bytes.subarray(range.start, range.end + 1) : bytes;
    return { body: new Blob([part as BlobPart]).stream() };
  };
  return {
    ...site,
    app: null as SiteSnapshot['app'],
    release: {
      releaseId: Bun.randomUUIDv7(),
      files: list,
      use: { isRecent: false },
      config: compileConfig(config),
      prepared: createPreparedFiles(site),
    },
    source: { get, blobs: createBlobCache({ bytesMax: 1024 * 1024, get }) },
    /** Number of reads of the object store. */
    looks: () => looks,
  };
}

export function testRequest(
  path: string,
  set: Partial<Omit<EdgeRequest, 'header'>> & { headers?: Readonly<Record<string, string>> } = {},
): EdgeRequest {
  const { headers = {}, ...rest } = set;
  const [, pathname = '', search = ''] = /^([^?]*)\??(.*)$/s.exec(path) ?? [];
  return {
    ...({ sent: headers } as object),
    method: 'GET',
    host: 'shop.apps.test',
    authority: 'shop.apps.test',
    scheme: 'http',
    path: pathname,
    search,
    requestId: () => 'test-id',
    ...rest,
    // Needs its request as `this`, like the raw listener's.
    header(this: EdgeRequest & { sent: typeof headers }, name) {
      return this.sent[name] ?? null;
    },
  };
}

export async function readAnswer(answering: ReturnType<Edge['answer']>) {
  const answer = await answering;
  if ('proxy' in answer) throw new Error('The response comes from an app.');
  const { status, headers, body } = answer;
  const text = await new Response(body as BodyInit | null).text();
  return { status, headers, text, location: headers.location };
}
