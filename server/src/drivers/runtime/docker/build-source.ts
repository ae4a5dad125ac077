import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { lstat, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { resolveFolder } from '../process/trees.ts';
import { BuildError, type BuildJob, type BuildPlan } from '../runtime.ts';
import { buildImage } from './build-image.ts';
import type { DockerDeps } from './docker-deps.ts';
import {
  AmbiguousDockerfileError,
  findImageProblem,
  type ParsedDockerfile,
  parseDockerfile,
} from './read-dockerfile.ts';

/** Without the app's variables, because they would stay in the image's history. */
export async function buildFromDetection(deps: DockerDeps, job: BuildJob, image: string): Promise<string> {
  const { plan, sourceDir } = job;
  if ((await resolveFolder(sourceDir, plan.dir)) === null)
    throw new BuildError('detect', `The source has no folder ${plan.dir}.`);
  const variables = deps.buildVariables;
  const text = createDockerfile(plan, { baseImage: deps.baseImage, variables: Object.keys(variables) });
  const commands = [plan.installCommand, plan.buildCommand].filter((command) => command !== null);
  return buildImage(deps, {
    job,
    image,
    variables,
    dockerfile: 'Dockerfile',
    context: { folder: sourceDir, as: sourceName, always: [], generated: { Dockerfile: text } },
    describeStep: (instruction) => (instruction.startsWith('RUN ') ? `$ ${commands.shift() ?? ''}` : null),
  });
}

interface DockerfileBuild {
  dockerfile: string;
  image: string;
  context?: string;
  target?: string;
  args?: Readonly<Record<string, string>>;
}

export async function buildFromDockerfile(
  deps: DockerDeps,
  job: BuildJob,
  options: DockerfileBuild,
): Promise<string> {
  const { plan, sourceDir } = job;
  const isBelow = plan.dir !== '.' && options.dockerfile.startsWith(`${plan.dir}/`);
  const folder = await resolveFolder(sourceDir, options.context ?? (isBelow ? plan.dir : '.'));
  if (folder === null) throw new BuildError('detect', `The source has no folder ${options.context}.`);
  const path = join(sourceDir, options.dockerfile);
  const dockerfile = relative(folder, path);
  const found = existsSync(path) && (await lstat(path)).isFile();
  if (!found || dockerfile.startsWith('..'))
    throw new BuildError('detect', `The source has no file ${options.dockerfile} to build from.`);
  const values = { ...deps.buildVariables, ...job.env, ...options.args };
  const { args } = checkDockerfile(await readFile(path, 'utf8'), values);
  const variables = Object.fromEntries(Object.entries(job.env).filter(([name]) => args.has(name)));
  const logged = [...new Set([...Object.keys(variables), ...Object.keys(options.args ?? {})])].sort();
  if (logged.length > 0)
    job.log(
      'platform',
      `Warning: the Dockerfile uses ${logged.join(', ')} as ARG. Build arguments stay in the image’s history: do not use secrets there.`,
    );
  return buildImage(deps, {
    job,
    image: options.image,
    dockerfile,
    target: options.target,
    variables: { ...deps.buildVariables, ...variables, ...options.args },
    context: { folder, as: '.', always: [dockerfile, '.dockerignore'], generated: {} },
    describeStep: (instruction) => instruction,
  });
}

function checkDockerfile(text: string, values: Readonly<Record<string, string>>): ParsedDockerfile {
  try {
    const read = parseDockerfile(text, values);
    for (const image of read.images) {
      const reason = findImageProblem(image);
      if (reason !== null) throw new BuildError('detect', `The Dockerfile: ${image} ${reason}.`);
    }
    return read;
  } catch (error) {
    if (!(error instanceof AmbiguousDockerfileError)) throw error;
    throw new BuildError(
      'detect',
      `The Dockerfile: the image is ambiguous in “${error.message.slice(0, 200)}”.`,
    );
  }
}

/** Not root, and not a user of any image. */
export const appUser = '10001:10001';
const appFolder = '/app';
const sourceName = 'source';

/** The app's command is an argument, not a part of the script. */
const runScript =
  'cd -- "$0" && export HOME=/tmp PATH="$PATH:$PWD/node_modules/.bin" && exec /bin/sh -c "$1"';

function createDockerfile(
  plan: Pick<BuildPlan, 'installCommand' | 'buildCommand' | 'dir'>,
  options: { baseImage: string; variables: readonly string[] },
): string {
  const commands = [plan.installCommand, plan.buildCommand].filter((command) => command !== null);
  const { variables } = options;
  return [
    `FROM ${options.baseImage}`,
    `COPY --chown=${appUser} ["${sourceName}", "${appFolder}"]`,
    ...(commands.length > 0 && variables.length > 0 ? [`ARG ${variables.join(' ')}`] : []),
    ...(commands.length > 0 ? [`USER ${appUser}`] : []),
    ...commands.map((command) => `RUN ${toJson(['/bin/sh', '-c', runScript, imageFolder(plan), command])}`),
    '',
  ].join('\n');
}

export function imageFolder({ dir }: Pick<BuildPlan, 'dir'>): string {
  return dir === '.' ? appFolder : `${appFolder}/${dir.replace(/^\.\//, '')}`;
}

// A line that ends with a backslash continues in a Dockerfile; a JSON array ends with a bracket.
const toJson = (words: readonly string[]) => JSON.stringify(words);

/** Hides the image ID, because an engine accepts it like a name. */
export function publicDigest(of: unknown): string {
  return `sha256:${createHash('sha256').update(JSON.stringify(of)).digest('hex')}`;
}
