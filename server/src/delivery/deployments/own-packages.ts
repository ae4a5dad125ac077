import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { listSourceFiles } from '@svc/contract/detect/source-files.ts';
import type { LogSink, Runtime } from '../../drivers/runtime/runtime.ts';

const namingFiles = new Set([
  'package.json',
  'package-lock.json',
  'npm-shrinkwrap.json',
  'yarn.lock',
  'pnpm-lock.yaml',
  'pnpm-workspace.yaml',
  'bun.lock',
]);
const packagePath = '/sdk.tgz';
const fileBytesMax = 20 * 1024 * 1024;

/** Any server on the machine of whoever installed it: in a build, its loopback address is the build's own. */
const loopbackUrl =
  /\bhttps?:\/\/(?:localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\])(?::\d{1,5})?\/sdk\.tgz(?![\w./-])/g;

interface OwnPackagesOptions {
  baseUrl: string | undefined;
  runtime: Pick<Runtime, 'kind' | 'adaptVariables'>;
  log: LogSink;
}

/**
 * Rewrites the URL of the SDK in the private copy of the source to one that the build can open, and returns it. Digests in
 * lock files stay, so package managers still compare them.
 */
export async function linkOwnPackages(dir: string, options: OwnPackagesOptions): Promise<string[]> {
  const { baseUrl, runtime, log } = options;
  // Containers of builds are in a network without this machine.
  if (runtime.kind !== 'process' || baseUrl === undefined) return [];
  const own = `${baseUrl}${packagePath}`;
  const url = runtime.adaptVariables?.({ SVC_API_URL: own }).SVC_API_URL ?? own;
  const paths = await listSourceFiles((path) => readdir(join(dir, path), { withFileTypes: true }));
  const changed: string[] = [];
  for (const path of [...paths].filter((each) => namingFiles.has(basename(each)))) {
    const text = await readSmallFile(join(dir, path));
    const linked = text?.replace(loopbackUrl, url).replaceAll(own, url);
    if (linked === undefined || linked === text) continue;
    // The file may be read-only.
    await rm(join(dir, path));
    await writeFile(join(dir, path), linked);
    changed.push(path);
  }
  if (changed.length === 0) return [];
  log('platform', `The SDK comes from this server (${changed.sort().join(', ')}).`);
  return [url];
}

async function readSmallFile(path: string): Promise<string | undefined> {
  const file = Bun.file(path);
  return file.size > fileBytesMax ? undefined : readFile(path, 'utf8');
}
