import { healthTimeoutSecondsDefault } from '@svc/contract/deployments.ts';
import { type Manifest, manifestOf } from '@svc/contract/manifest.shapes.ts';
import { durationMs, healthTimeoutMinutesMax, manifestFileNames } from '@svc/contract/manifest.ts';
import { manifestTooLarge, parseManifestDocument } from '@svc/contract/manifest-document.ts';
import { faultText, ManifestFaults } from '@svc/contract/manifest-faults.ts';
import type { SiteConfig } from '@svc/contract/site-config.ts';
import * as yaml from 'yaml';
import { folderWithin } from '../drivers/runtime/process/trees.ts';
import { BuildFailure, type BuildPlan, type DeployMethod } from '../drivers/runtime/runtime.ts';
import { detectSource } from './detect-source.ts';
import { noWay } from './detected.ts';
import { folderFiles } from './folder-files.ts';
import type { SourceFiles } from './source-files.ts';

export interface SourcePlan {
  plan: BuildPlan;
  /** Without a path any answer counts that is no fault of the app. */
  health: { path: string | null; timeoutMs: number };
  /** From `svc.yaml`; what was set for the app goes before it. */
  env: Readonly<Record<string, string>>;
  /** Of `static`, where `svc.yaml` has one. */
  site: SiteConfig | null;
  /** `svc.yaml` asks for a storage of the app's own. */
  wantsStorage: boolean;
  /** For the log: what was recognized, by which files. */
  told: string[];
}

/** What `svc.yaml` says of source in a folder, and where it is silent what the source itself tells. */
export async function planSource(folder: string, { method }: { method: DeployMethod }): Promise<SourcePlan> {
  const root = await folderFiles(folder);
  const manifest = await readManifest(root);
  const build = typeof manifest.build === 'string' ? { command: manifest.build } : manifest.build;
  const dir = build?.dir ?? '.';
  // It may be a link, which may lead anywhere.
  const below = dir === '.' ? folder : ((await folderWithin(folder, dir)) ?? missing(dir));
  const files = dir === '.' ? root : await folderFiles(below).catch(() => missing(dir));
  const detected = await detectSource(files);
  const way = detected.ways.find((each) => each.deploy_method === method) ?? {
    ...noWay,
    ...(detected.ways[0]
      ? { language: detected.ways[0].language, install_command: detected.ways[0].install_command }
      : {}),
  };
  const { deploy, health } = manifest;
  // What the app is was said when it was made; source for something else would be built as what it is not.
  if (deploy?.method !== undefined && deploy.method !== method)
    throw new BuildFailure(
      'detect',
      `svc.yaml: deploy.method is ${deploy.method}, and the app was made with ${method}, which is fixed.`,
    );
  const inDir = (file: string | null) => (file === null || dir === '.' ? file : `${dir}/${file}`);
  return {
    plan: {
      installCommand: way.install_command,
      buildCommand: build?.command ?? way.build_command,
      dir,
      startCommand: method === 'docker' ? (manifest.start ?? way.start_command) : null,
      outputDir: method === 'static' ? (manifest.static?.dir ?? way.output_dir ?? '.') : null,
      dockerfile: method === 'docker' ? (deploy?.dockerfile ?? inDir(way.dockerfile)) : null,
      composeFile: method === 'compose' ? (deploy?.compose_file ?? inDir(way.compose_file)) : null,
      language: way.language,
    },
    health: {
      path: (typeof health === 'string' ? health : health?.path) ?? null,
      timeoutMs: Math.min(
        (typeof health === 'object' && health.timeout !== undefined ? durationMs(health.timeout) : null) ??
          healthTimeoutSecondsDefault * 1000,
        healthTimeoutMinutesMax * 60_000,
      ),
    },
    env: manifest.env ?? {},
    site: manifest.site ?? null,
    wantsStorage: manifest.storage?.enabled === true,
    told: [
      ...detected.evidence.map(({ file, says }) => `${file}: ${says}`),
      ...(Object.keys(manifest).length > 0 ? ['svc.yaml says how it is built and run.'] : []),
    ],
  };
}

function missing(dir: string): never {
  throw new BuildFailure('detect', `svc.yaml: the folder ${dir} of build.dir is not there.`);
}

/** With the words that the command line has for it. */
async function readManifest(files: SourceFiles): Promise<Manifest> {
  const name = manifestFileNames.find((each) => files.paths.has(each));
  if (name === undefined) return {};
  try {
    const text = await files.read(name);
    if (text === null) throw manifestTooLarge();
    return manifestOf(parseManifestDocument(yaml, text));
  } catch (error) {
    if (!(error instanceof ManifestFaults)) throw error;
    const told = error.faults.slice(0, faultsToldMax).map((fault) => faultText(name, fault));
    throw new BuildFailure('detect', told.join('; '));
  }
}

const faultsToldMax = 20;
