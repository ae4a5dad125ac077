import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

export interface ConsoleFile {
  type: string;
  plain: Uint8Array;
  gzip: Uint8Array;
  br: Uint8Array;
}

export interface BuiltConsole {
  /** By path. The names contain a content hash. */
  assets: ReadonlyMap<string, ConsoleFile>;
  page: ConsoleFile;
}

export const assetsPrefix = '/assets/';

/** The bundle is cached beside the sources under their hash, so that only the first start after a change takes time. */
export async function buildConsole(sources: string): Promise<BuiltConsole> {
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

const types: Record<string, string> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
};

function mediaType(name: string): string {
  const ending = name.slice(name.lastIndexOf('.') + 1);
  const type = types[ending];
  if (!type) throw new Error(`No media type for the console file ${name}.`);
  return type;
}

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
