import { detectSource } from '@svc/contract/detect/detect.ts';
import {
  type BuildSettings,
  type Evidence as FileEvidence,
  unknownSettings,
} from '@svc/contract/detect/settings.ts';
import type { SourceFiles } from '@svc/contract/detect/source-files.ts';
import type { Manifest } from '@svc/contract/manifest.shapes.ts';
import { manifestUrlPathPattern } from '@svc/contract/manifest.ts';
import { chooseName, chooseSlug, type NameSources, type RequestedNames } from './names.ts';

export interface Evidence {
  key: string;
  value: string;
  because: string;
}

export type Reasoned = Omit<Evidence, 'key'>;

export interface Detected {
  manifest: Manifest;
  evidence: Evidence[];
}

export interface Folder {
  files: SourceFiles;
  name: string;
  origin: string | null;
}

export async function detect(folder: Folder, names: RequestedNames): Promise<Detected> {
  const { files, origin } = folder;
  const sources: NameSources = { packageName: await packageName(files), origin, folder: folder.name };
  const name = chooseName(sources, names);
  const slug = chooseSlug(sources, name.value, names);
  const { tenant } = names;
  const serving = await detectServing(files);
  const manifest: Manifest = { name: name.value };
  const evidence: Evidence[] = [{ key: 'name', ...name }];
  if (tenant !== undefined) {
    manifest.tenant = tenant;
    evidence.push({ key: 'tenant', value: tenant, because: '--tenant or SVC_TENANT' });
  }
  if (slug !== null) {
    manifest.app = { slug: slug.value };
    evidence.push({ key: 'app.slug', ...slug });
  }
  return { manifest: { ...manifest, ...serving.manifest }, evidence: [...evidence, ...serving.evidence] };
}

async function detectServing(files: SourceFiles): Promise<Detected> {
  const { options, evidence: found } = await detectSource(files);
  const [settings = unknownSettings] = options;
  const because = reasonFor(settings, found);
  const manifest: Manifest = { deploy: { method: settings.deploy_method } };
  const evidence: Evidence[] = [{ key: 'deploy.method', value: settings.deploy_method, because }];
  const deploy = manifest.deploy ?? {};
  if (settings.compose_file !== null) {
    deploy.compose_file = settings.compose_file;
    evidence.push({ key: 'deploy.compose_file', value: settings.compose_file, because });
    return { manifest, evidence };
  }
  if (settings.dockerfile !== null) {
    if (settings.dockerfile !== 'Dockerfile') {
      deploy.dockerfile = settings.dockerfile;
      evidence.push({ key: 'deploy.dockerfile', value: settings.dockerfile, because });
    }
    const health = healthcheckPath((await files.read(settings.dockerfile)) ?? '');
    if (health !== null) {
      manifest.health = health;
      evidence.push({ key: 'health', value: health, because: `HEALTHCHECK in ${settings.dockerfile}` });
    }
    return { manifest, evidence };
  }
  if (settings.dir !== null) {
    manifest.build = { dir: settings.dir };
    evidence.push({ key: 'build.dir', value: settings.dir, because: appsReason(options) });
  }
  if (settings.build_command !== null) {
    if (typeof manifest.build === 'object') manifest.build.command = settings.build_command;
    else manifest.build = settings.build_command;
    evidence.push({
      key: 'build',
      value: settings.build_command,
      because: commandReason(settings, 'build') ?? because,
    });
  }
  if (settings.output_dir !== null) {
    manifest.static = { dir: settings.output_dir };
    evidence.push({ key: 'static.dir', value: settings.output_dir, because });
  }
  if (settings.release_command !== null) {
    manifest.release = settings.release_command;
    const named = found.find(({ says }) => says === 'names the release command');
    const reason = named ? `${named.file} ${named.says}` : because;
    evidence.push({ key: 'release', value: settings.release_command, because: reason });
  }
  if (settings.start_command !== null) {
    manifest.start = settings.start_command;
    const reason = commandReason(settings, 'start') ?? because;
    evidence.push({ key: 'start', value: settings.start_command, because: reason });
  }
  if (settings.deploy_method === 'docker' && settings.language !== 'unknown') {
    manifest.health = '/';
    evidence.push({ key: 'health', value: '/', because: 'a guess: most programs answer there' });
  }
  return { manifest, evidence };
}

function reasonFor({ dockerfile, compose_file }: BuildSettings, evidence: readonly FileEvidence[]): string {
  const decisive = dockerfile ?? compose_file;
  const found = decisive === null ? evidence[0] : evidence.find(({ file }) => file === decisive);
  return found ? `${found.file} ${found.says}` : 'no known project file; docker is the default method';
}

function appsReason(options: readonly BuildSettings[]): string {
  const dirs = [...new Set(options.map(({ dir }) => dir).filter((dir) => dir !== null))];
  return dirs.length === 1
    ? 'the only app of the workspace'
    : `one of the workspace's apps: ${dirs.join(', ')}`;
}

function commandReason(settings: BuildSettings, script: 'build' | 'start'): string | null {
  return settings[`${script}_command`]?.endsWith(` run ${script}`)
    ? `script ${script} in package.json`
    : null;
}

function healthcheckPath(dockerfile: string): string | null {
  const instruction = /^\s*HEALTHCHECK\b((?:[^\n]*\\\r?\n)*[^\n]*)/im.exec(dockerfile)?.[1] ?? '';
  const path = /https?:\/\/[^/\s"'\]]+(\/[^\s"'\]|;&)]*)?/.exec(instruction);
  if (path === null) return null;
  const found = path[1] ?? '/';
  return manifestUrlPathPattern.test(found) ? found : null;
}

async function packageName(files: SourceFiles): Promise<string | null> {
  try {
    const { name } = Object(JSON.parse((await files.read('package.json')) ?? ''));
    return typeof name === 'string' ? name : null;
  } catch {
    return null;
  }
}
