import type { BuildPlan } from '../runtime.ts';

/** Not root, and known to no image. */
export const appUser = '10001:10001';
/** Where the source is in the image, and under which name in the archive that is sent. */
export const appFolder = '/app';
export const sourceName = 'source';

/** In the app's folder; its command is an argument and not a part of our text. */
const within = 'cd -- "$0" && export HOME=/tmp && exec /bin/sh -c "$1"';

/**
 * An image of a source without a Dockerfile. Everything of the app stands as JSON, where nothing is looked for in it;
 * how it is started is told when it is started.
 */
export function dockerfileOf(
  plan: Pick<BuildPlan, 'installCommand' | 'buildCommand' | 'dir'>,
  given: { baseImage: string; variables: readonly string[] },
): string {
  const commands = [plan.installCommand, plan.buildCommand].filter((command) => command !== null);
  const { variables } = given;
  return [
    `FROM ${given.baseImage}`,
    `COPY --chown=${appUser} ["${sourceName}", "${appFolder}"]`,
    ...(commands.length > 0 && variables.length > 0 ? [`ARG ${variables.join(' ')}`] : []),
    ...(commands.length > 0 ? [`USER ${appUser}`] : []),
    ...commands.map((command) => `RUN ${json(['/bin/sh', '-c', within, folderOf(plan), command])}`),
    '',
  ].join('\n');
}

export function folderOf({ dir }: Pick<BuildPlan, 'dir'>): string {
  return dir === '.' ? appFolder : `${appFolder}/${dir.replace(/^\.\//, '')}`;
}

// Behind a backslash at its end a line of a Dockerfile goes on; JSON in brackets ends with a bracket.
const json = (words: readonly string[]) => JSON.stringify(words);
