import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

/** A file of the console as it is sent. */
export interface ConsoleFile {
  type: string;
  plain: Uint8Array;
  gzip: Uint8Array;
  br: Uint8Array;
}

export interface BuiltConsole {
  /** By path: `/assets/…`. Their names change with what is in them. */
  assets: ReadonlyMap<string, ConsoleFile>;
  page: ConsoleFile;
}

export const assetsPrefix = '/assets/';

/**
 * The console, bundled from its sources. What was bundled is kept beside them under the sum of what it was made from, so
 * that only the first start after a change takes the time.
 */
export async function buildConsole(sources: string): Promise<BuiltConsole> {
  const kept = join(sources, 'dist', await sumOf(sources));
  const files = (await readKept(kept)) ?? (await bundle(sources));
  await keep(files, kept);
  const assets = new Map([...files].map(([name, file]) => [assetsPrefix + name, file]));
  const page = files.get(pageName);
  if (!page) throw new Error('The bundle of the console has no page.');
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
    // React's build for production; it asks the browser, never this server's environment.
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
    files.set(name, { type: typeOf(name), plain, gzip: gz, br });
  }
  return files;
}

async function readKept(kept: string): Promise<Files | null> {
  const names = await readdir(kept).catch(() => null);
  if (!names) return null;
  const files = new Map<string, ConsoleFile>();
  for (const name of names.filter((each) => !/\.(gz|br)$/.test(each))) {
    const read = (form: keyof typeof endings) => readFile(join(kept, name + endings[form]));
    const [plain, gz, br] = await Promise.all([read('plain'), read('gzip'), read('br')]);
    files.set(name, { type: typeOf(name), plain, gzip: gz, br });
  }
  return files;
}

/** Whole or not at all: servers that start together may all be doing this, and a folder may be for reading only. */
async function keep(files: Files, kept: string): Promise<void> {
  if (existsSync(kept)) return;
  const work = `${kept}.${crypto.randomUUID()}`;
  try {
    await mkdir(work, { recursive: true });
    for (const [name, file] of files) {
      for (const form of ['plain', 'gzip', 'br'] as const)
        await writeFile(join(work, name + endings[form]), file[form]);
    }
    await rename(work, kept);
    await removeOthers(kept);
  } catch {
    // It is bundled again at the next start.
    await rm(work, { recursive: true, force: true }).catch(() => {});
  }
}

/** Bundles of other sources; not the young ones, which another checkout or a server that starts may be using. */
async function removeOthers(kept: string): Promise<void> {
  const folder = dirname(kept);
  for (const name of await readdir(folder).catch(() => [])) {
    const other = join(folder, name);
    if (other === kept) continue;
    const made = await stat(other).catch(() => null);
    if (made && Date.now() - made.mtimeMs > keptMs)
      await rm(other, { recursive: true, force: true }).catch(() => {});
  }
}
const keptMs = 24 * 3_600_000;

const types: Record<string, string> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
};

function typeOf(name: string): string {
  const ending = name.slice(name.lastIndexOf('.') + 1);
  const type = types[ending];
  if (!type) throw new Error(`No media type for ${name} of the console.`);
  return type;
}

/** Of all that goes into the bundle: its own files, the contract's, and which packages are installed. */
async function sumOf(sources: string): Promise<string> {
  const root = join(sources, '..');
  const sum = createHash('sha256').update(Bun.version);
  const files = ['console/index.html', 'console/package.json', 'package-lock.json'];
  for (const folder of ['console/src', 'contract/src']) {
    const found = await readdir(join(root, folder), { recursive: true, withFileTypes: true });
    for (const file of found)
      if (file.isFile()) files.push(join(file.parentPath, file.name).slice(root.length + 1));
  }
  for (const file of files.sort()) {
    if (/\.test\.tsx?$/.test(file)) continue;
    sum
      .update(`${file}\0`)
      .update(await readFile(join(root, file)))
      .update('\0');
  }
  return sum.digest('hex').slice(0, 16);
}
