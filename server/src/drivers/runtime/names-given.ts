import { environmentOf } from './docker/start-container.ts';
import { environmentOfRun, markName } from './process/environment.ts';
import type { Runtime } from './runtime.ts';

/**
 * Of an app that is started with variables of these names: the names that the runtime gives by itself, or in their place.
 * Asked of what makes the environment of a running app, so that it can not differ.
 */
export function namesGiven({ kind }: Pick<Runtime, 'kind'>, asked: readonly string[]): string[] {
  const job = Object.fromEntries(asked.map((name) => [name, theirs]));
  const env = kind === 'process' ? ofProcess(job) : ofContainer(job);
  return Object.keys(env).filter((name) => env[name] !== theirs);
}

const theirs = 'of the app';

function ofProcess(job: Record<string, string>): Record<string, string> {
  const folders = { home: '', tmp: '' };
  return {
    [markName]: '',
    ...environmentOfRun({ path: '', forBuilds: {} }, { job, folders, port: 0, preload: '' }),
  };
}

function ofContainer(job: Record<string, string>): Record<string, string> {
  const lines = environmentOf(job, 0).map((line) => line.split('=', 2) as [string, string]);
  return Object.fromEntries(lines);
}
