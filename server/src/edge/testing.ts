import { createHash } from 'node:crypto';
import type { SiteConfig } from '@svc/contract/site-config.ts';
import type { Edge, EdgeAnswer, EdgeRequest } from '../plumbing/edge-request.ts';
import { type BlobEncoding, blobKey } from '../static-sites/blob-key.ts';
import type { FileSource } from './answer-file.ts';
import { createBlobCache } from './blob-cache.ts';
import { compileConfig } from './compile-config.ts';
import { createPreparedFiles } from './prepared-files.ts';
import type { ShownRelease, SiteFile, SiteSnapshot } from './site-snapshot.ts';

/** A site in memory, as the edge would have read it, with the bytes of its files. */
export interface TestSite extends SiteSnapshot {
  release: ShownRelease;
  source: FileSource;
  /** How often the store was asked. */
  looks(): number;
}

export interface TestFile {
  text: string;
  /** Forms it has beside itself, of made-up bytes. */
  br?: string;
  gzip?: string;
}

export function testSite(
  files: Readonly<Record<string, string | TestFile>>,
  options: { config?: SiteConfig; hostKind?: SiteSnapshot['hostKind']; isOpen?: boolean } = {},
): TestSite {
  const site = {
    appId: Bun.randomUUIDv7(),
    tenantId: Bun.randomUUIDv7(),
    hostKind: options.hostKind ?? 'app',
    isOpen: options.isOpen ?? true,
  } as const;
  const stored = new Map<string, Uint8Array>();
  const list = new Map<string, SiteFile>();
  for (const [path, given] of Object.entries(files)) {
    const { text, br, gzip } = typeof given === 'string' ? { text: given } : given;
    const blobId = Bun.randomUUIDv7();
    const put = (encoding: BlobEncoding, body: string) => {
      const bytes = new TextEncoder().encode(body);
      stored.set(blobKey(site, blobId, encoding), bytes);
      return bytes.length;
    };
    list.set(path, {
      path,
      blobId,
      tag: `"${sumOf(text).slice(0, 32)}`,
      size: put('identity', text),
      gzipSize: gzip === undefined ? null : put('gzip', gzip),
      brotliSize: br === undefined ? null : put('br', br),
    });
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
    app: null,
    release: {
      releaseId: Bun.randomUUIDv7(),
      files: list,
      use: { isRecent: false },
      config: compileConfig(options.config ?? {}),
      prepared: createPreparedFiles(site),
    },
    source: { get, blobs: createBlobCache({ bytesMax: 1024 * 1024, get }) },
    looks: () => looks,
  };
}

export function sumOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

export function testRequest(
  path: string,
  set: Partial<Omit<EdgeRequest, 'header'>> & { headers?: Readonly<Record<string, string>> } = {},
): EdgeRequest {
  const { headers = {}, ...rest } = set;
  const mark = path.indexOf('?');
  return {
    ...({ sent: headers } as object),
    method: 'GET',
    host: 'shop.apps.test',
    authority: 'shop.apps.test',
    scheme: 'http',
    path: mark < 0 ? path : path.slice(0, mark),
    search: mark < 0 ? '' : path.slice(mark + 1),
    requestId: () => 'test-id',
    ...rest,
    // As of the listener that reads them from the bytes when asked: not without its request.
    header(this: EdgeRequest & { sent: typeof headers }, name) {
      return this.sent[name] ?? null;
    },
  };
}

/** Status, what it leads to, and the text: most of what tests ask about. */
export async function shown(answering: ReturnType<Edge['answer']>): Promise<{
  status: number;
  headers: EdgeAnswer['headers'];
  text: string;
  location: string | undefined;
}> {
  const answer = await answering;
  if ('pass' in answer) throw new Error('An app is to be asked.');
  const { status, headers, body } = answer;
  const text = await new Response(body as BodyInit | null).text();
  return { status, headers, text, location: headers.location };
}
