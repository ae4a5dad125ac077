import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { consolePrefix } from '@svc/contract/console-paths.ts';
import { mediaType } from '@svc/contract/media-types.ts';
import { fail } from '../../core/problem.ts';
import { projectRoot } from '../../core/project-root.ts';
import type { RequestHandler } from '../../http/handlers.ts';
import { encodingOrder } from '../sites/prepare-file.ts';

interface ConsoleFile {
  type: string;
  plain: Uint8Array;
  gzip: Uint8Array;
  br: Uint8Array;
}

interface BuiltConsole {
  assets: ReadonlyMap<string, ConsoleFile>;
  page: ConsoleFile;
}

const assetsPrefix = '/assets/';

/** The bundle is cached beside the sources under their hash, so that only the first start after a change takes time. */
async function buildConsole(sources: string): Promise<BuiltConsole> {
  const cached = join(sources, 'dist', await hashSources(sources));
  const files = (await readCached(cached)) ?? (await bundle(sources));
  await writeCached(files, cached);
  const assets = new Map([...files].map(([name, file]) => [assetsPrefix + name, file]));
  const page = files.get(pageName);
  if (!page) throw new Error('The bundle of the console has no index page.');
  assets.delete(assetsPrefix + pageName);
  return { assets, page };
}

type Files = ReadonlyMap<string, ConsoleFile>;
const pageName = 'index.html';
const endings = { plain: '', gzip: '.gz', br: '.br' } as const;

async function bundle(sources: string): Promise<Files> {
  const { outputs } = await Bun.build({
    entrypoints: [join(sources, pageName)],
    minify: true,
    splitting: true,
    target: 'browser',
    publicPath: assetsPrefix,
    // The production build of React, independent of this server's environment.
    define: { [['process', 'env', 'NODE_ENV'].join('.')]: '"production"' },
    naming: { chunk: '[name]-[hash].[ext]', asset: '[name]-[hash].[ext]', entry: '[name]-[hash].[ext]' },
  });
  const files = new Map<string, ConsoleFile>();
  for (const output of outputs) {
    const plain = new Uint8Array(await output.arrayBuffer());
    const name = output.path.endsWith('.html') ? pageName : basename(output.path);
    const params = { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_SIZE_HINT]: plain.length };
    const [gz, br] = await Promise.all([
      promisify(gzip)(plain, { level: 9 }),
      promisify(brotliCompress)(plain, { params }),
    ]);
    files.set(name, { type: mediaType(name), plain, gzip: gz, br });
  }
  return files;
}

async function readCached(cached: string): Promise<Files | null> {
  const names = await readdir(cached).catch(() => null);
  if (!names) return null;
  const files = new Map<string, ConsoleFile>();
  for (const name of names.filter((each) => !/\.(gz|br)$/.test(each))) {
    const read = (form: keyof typeof endings) => readFile(join(cached, name + endings[form]));
    const [plain, gz, br] = await Promise.all([read('plain'), read('gzip'), read('br')]);
    files.set(name, { type: mediaType(name), plain, gzip: gz, br });
  }
  return files;
}

/** Atomic, because servers may start at the same time. The folder may be read-only. */
async function writeCached(files: Files, cached: string): Promise<void> {
  if (existsSync(cached)) return;
  const work = `${cached}.${crypto.randomUUID()}`;
  try {
    await mkdir(work, { recursive: true });
    for (const [name, file] of files) {
      for (const form of ['plain', 'gzip', 'br'] as const)
        await writeFile(join(work, name + endings[form]), file[form]);
    }
    await rename(work, cached);
    await removeOldBundles(cached);
  } catch {
    // Not cached: the next start bundles again.
    await rm(work, { recursive: true, force: true }).catch(() => {});
  }
}

/** Recent bundles stay: another server may be using them. */
async function removeOldBundles(cached: string): Promise<void> {
  const folder = dirname(cached);
  for (const name of await readdir(folder).catch(() => [])) {
    const other = join(folder, name);
    if (other === cached) continue;
    const made = await stat(other).catch(() => null);
    if (made && Date.now() - made.mtimeMs > cachedMs)
      await rm(other, { recursive: true, force: true }).catch(() => {});
  }
}
const cachedMs = 24 * 3_600_000;

async function hashSources(sources: string): Promise<string> {
  const root = join(sources, '..');
  const hash = createHash('sha256').update(Bun.version);
  const files = ['console/index.html', 'console/package.json', 'package-lock.json'];
  for (const folder of ['console/src', 'contract/src', 'sdk/src']) {
    const found = await readdir(join(root, folder), { recursive: true, withFileTypes: true });
    for (const file of found)
      if (file.isFile()) files.push(join(file.parentPath, file.name).slice(root.length + 1));
  }
  for (const file of files.sort()) {
    if (/\.test\.tsx?$/.test(file)) continue;
    hash
      .update(`${file}\0`)
      .update(await readFile(join(root, file)))
      .update('\0');
  }
  return hash.digest('hex').slice(0, 16);
}

export interface Console {
  has(path: string): boolean;
  handle: RequestHandler;
  prepare(): Promise<void>;
}

export function createConsole({ sources, baseUrl }: { sources: string; baseUrl: string }): Console {
  let building: Promise<BuiltConsole> | null = null;
  const ensureBuilt = () => {
    building ??= buildConsole(sources).catch((error) => {
      building = null;
      throw error;
    });
    return building;
  };
  const pageHeaders = {
    'cache-control': 'no-cache',
    'content-security-policy': contentSecurityPolicy(baseUrl),
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
  };

  return {
    has: (path) => path === '/' || path.startsWith(consolePrefix) || path.startsWith(assetsPrefix),
    prepare: async () => {
      await ensureBuilt();
    },
    handle: async (request, url, info) => {
      info.setRoute('console');
      if (request.method !== 'GET' && request.method !== 'HEAD') {
        throw fail('method_not_allowed', { headers: { allow: 'GET, HEAD' } });
      }
      const { assets, page } = await ensureBuilt();
      if (!url.pathname.startsWith(assetsPrefix)) return send(request, page, pageHeaders);
      const asset = assets.get(url.pathname);
      if (!asset) throw fail('not_found', { detail: 'No such path.' });
      return send(request, asset, {
        'cache-control': 'public, max-age=31536000, immutable',
        'x-content-type-options': 'nosniff',
      });
    },
  };
}

function send(request: Request, file: ConsoleFile, headers: Record<string, string>): Response {
  // Every encoding exists, so the first one is used.
  const [encoding = 'identity'] = encodingOrder(request.headers.get('accept-encoding'));
  const bytes = encoding === 'identity' ? file.plain : file[encoding];
  const encoded: Record<string, string> = encoding === 'identity' ? {} : { 'content-encoding': encoding };
  // Explicit, because a response to HEAD has no body to measure.
  const content = { 'content-type': file.type, 'content-length': String(bytes.byteLength) };
  return new Response(request.method === 'HEAD' ? null : (bytes as BodyInit), {
    headers: { ...headers, ...encoded, ...content, vary: 'accept-encoding' },
  });
}

/** Mantine writes style elements. Icons and signed URLs are at the public base URL. */
function contentSecurityPolicy(baseUrl: string): string {
  const { origin } = new URL(baseUrl);
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self' 'unsafe-inline'",
    `img-src 'self' ${origin} data: blob:`,
    "font-src 'self'",
    `connect-src 'self' ${origin}`,
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "manifest-src 'self'",
  ].join('; ');
}

export const consoleSources = join(projectRoot, 'console');
