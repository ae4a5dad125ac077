import {
  type GitHostInstallation,
  type Installation,
  type Repository,
  RepositoryRefused,
} from '../../drivers/git-host/git-host.ts';
import { userTokenOf } from '../../git-connections/user-token-of.ts';
import type { RepoOutput } from '../outputs.ts';
import { resolveInstallation } from '../resolve-installation.ts';
import { isMarked, markedDescription } from '../rules.ts';
import { StepRefused } from '../step-refused.ts';
import type { Step } from '../step-work.ts';
import type { Run } from '../store.ts';

/** One that is there with the mark of this very run was made by a try that never came to say so. */
export const createRepo: Step = async ({ parts, run, creator }) => {
  const who = { tenantId: run.tenant_id, userId: run.created_by };
  const installation = await resolveInstallation(parts, {
    wanted: run.input.repo,
    tenantSlug: creator.tenant.slug,
    who,
  });
  const userToken = await userTokenOf(parts, who);
  const asInstallation = parts.gitHost.asInstallation(installation.id);
  const made =
    (await findMarked(asInstallation, installation, run)) ??
    (await make(asInstallation, { installation, run, userToken }));
  const { id, owner, name, isPrivate, cloneUrl, webUrl } = made;
  const output: RepoOutput = {
    id,
    owner,
    name,
    isPrivate,
    cloneUrl,
    webUrl,
    installationId: installation.id,
  };
  return async () => ({ state: 'done', output: { ...output }, detail: `${owner}/${name} is made.` });
};

async function findMarked(
  host: GitHostInstallation,
  { account }: Installation,
  run: Run,
): Promise<Repository | null> {
  const { name } = run.input.repo;
  const there = await host.repository({ owner: account.login, name });
  if (!there) return null;
  if (isMarked(there.description, run.id)) return there;
  throw new StepRefused('repo_exists', `There is a repository ${account.login}/${name} already.`);
}

async function make(
  host: GitHostInstallation,
  { installation, run, userToken }: { installation: Installation; run: Run; userToken: string },
): Promise<Repository> {
  const { name, isPrivate } = run.input.repo;
  const description = markedDescription(`The app ${run.slug}.`, run.id);
  try {
    return await host.createRepository({
      owner: installation.account,
      name,
      isPrivate,
      description,
      userToken,
    });
  } catch (error) {
    // Another try of this run may have been first, or one whose answer was lost.
    const made =
      error instanceof RepositoryRefused && error.reason === 'repo_exists'
        ? await findMarked(host, installation, run)
        : null;
    if (made) return made;
    throw error;
  }
}
