import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import type { BaseEnvironment } from '../runtime/process/environment.ts';

export interface PackageVersion {
  version: string;
  integrity: string;
}

export interface Registry {
  versions(name: string, signal: AbortSignal): Promise<PackageVersion[]>;
  /** Throws if the content is not what the registry announced. */
  download(name: string, of: PackageVersion, options: { to: string; signal: AbortSignal }): Promise<void>;
}

const answerMsMax = 20_000;
const downloadMsMax = 10 * 60_000;
const listMsMax = 10 * 60_000;

export function openRegistry(findUrl: () => Promise<string>): Registry {
  const lists = new Map<string, { at: number; list: Promise<PackageVersion[]> }>();

  async function get(path: string, signal: AbortSignal, msMax: number): Promise<Response> {
    const headers = { accept: 'application/vnd.npm.install-v1+json; q=1, */*; q=0.5' };
    const url = `${(await findUrl()).replace(/\/+$/, '')}/${path}`;
    const answer = await fetch(url, {
      headers,
      signal: AbortSignal.any([signal, AbortSignal.timeout(msMax)]),
    });
    if (!answer.ok) throw new Error(`The package registry answered ${answer.status} for ${path}.`);
    return answer;
  }

  async function fetchVersions(name: string, signal: AbortSignal): Promise<PackageVersion[]> {
    const { versions } = (await (await get(escapeName(name), signal, answerMsMax)).json()) as PackageDocument;
    return Object.entries(versions).flatMap(([version, { dist, deprecated }]) =>
      dist?.integrity && deprecated === undefined ? [{ version, integrity: dist.integrity }] : [],
    );
  }

  return {
    versions(name, signal) {
      const known = lists.get(name);
      if (known && Date.now() - known.at < listMsMax) return known.list;
      const list = fetchVersions(name, signal);
      lists.set(name, { at: Date.now(), list });
      list.catch(() => lists.delete(name));
      return list;
    },
    async download(name, { version, integrity }, { to, signal }) {
      const file = `${name.split('/').at(-1)}-${version}.tgz`;
      const bytes = await (await get(`${escapeName(name)}/-/${file}`, signal, downloadMsMax)).bytes();
      const [algorithm = '', expected = ''] = integrity.split(/[- ]/);
      if (createHash(algorithm).update(bytes).digest('base64') !== expected)
        throw new Error(`${file} from the package registry does not have the announced ${algorithm} hash.`);
      await writeFile(to, bytes);
    },
  };
}

interface PackageDocument {
  versions: Record<string, { dist?: { integrity?: string }; deprecated?: unknown }>;
}

const escapeName = (name: string) => name.replace('/', '%2f');

export function npmRegistryUrl({ path, forBuilds }: BaseEnvironment): () => Promise<string> {
  let found: Promise<string> | undefined;
  const ask = async () => {
    const child = Bun.spawn(['npm', 'config', 'get', 'registry'], {
      env: { ...forBuilds, PATH: path, HOME: homedir() },
      stdout: 'pipe',
      stderr: 'ignore',
    });
    const url = (await new Response(child.stdout).text()).trim();
    if (!URL.canParse(url)) throw new Error('npm does not name a package registry.');
    return url;
  };
  return () => {
    found ??= ask();
    found.catch(() => {
      found = undefined;
    });
    return found;
  };
}
