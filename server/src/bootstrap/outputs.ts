import type { RepoName } from '../drivers/git-host/git-host.ts';
import type { StepName } from './rules.ts';
import type { Run } from './store.ts';

/** What `create_repo` leaves behind. */
export interface RepoOutput extends RepoName {
  id: number;
  installationId: number;
  isPrivate: boolean;
  cloneUrl: string;
  webUrl: string;
}

/** What a step that is done, or waits, has left behind; null before that. */
export function outputOf<T>(run: Run, name: StepName): Partial<T> {
  return (run.steps.find((step) => step.name === name)?.output ?? {}) as Partial<T>;
}

export function repoOf(run: Run): RepoOutput | null {
  const output = outputOf<RepoOutput>(run, 'create_repo');
  return output.id === undefined ? null : (output as RepoOutput);
}

/** For the steps behind the one that made it. */
export function madeRepo(run: Run): RepoOutput {
  const repo = repoOf(run);
  if (!repo) throw new Error('The run has no repository yet.');
  return repo;
}

export const commitOf = (run: Run) => outputOf<{ sha: string }>(run, 'seed_repo').sha ?? null;
export const deploymentIdOf = (run: Run) =>
  outputOf<{ deploymentId: string }>(run, 'first_deploy').deploymentId ?? null;
