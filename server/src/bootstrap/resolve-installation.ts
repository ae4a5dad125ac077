import type { Installation } from '../drivers/git-host/git-host.ts';
import { asGitUser } from '../git-connections/as-git-user.ts';
import type { GitParts, LinkedPerson } from '../git-connections/git-parts.ts';
import { fail } from '../plumbing/problem.ts';
import type { WantedRepo } from './run-input.ts';

interface Wish {
  wanted: Pick<WantedRepo, 'owner' | 'installationId'>;
  tenantSlug: string;
  /** For whom the repository is made. */
  who: LinkedPerson;
}
type Parts = Pick<GitParts, 'db' | 'gitHost' | 'now'>;

/**
 * Where the app of the git host is installed that makes the repository: its account will own it. It must be one that
 * the person's own account reaches, so that nobody makes something in a place of others.
 */
export async function resolveInstallation(parts: Parts, wish: Wish): Promise<Installation> {
  const reached = await asGitUser(parts, wish.who, (user) => user.installations());
  const found = await findInstallation(parts, wish, reached);
  if (!found) throw missing(wish);
  const { owner } = wish.wanted;
  const isOwners = owner === null || owner.toLowerCase() === found.account.login.toLowerCase();
  if (!isOwners || !reached.some(({ id }) => id === found.id)) throw fail('installation_mismatch');
  return found;
}

async function findInstallation(
  parts: Parts,
  { wanted, tenantSlug, who }: Wish,
  reached: readonly Installation[],
): Promise<Installation | null> {
  const { gitHost: host } = parts;
  if (wanted.installationId !== null) return host.installation(wanted.installationId);
  if (wanted.owner !== null) return host.installationOfOwner(wanted.owner);
  if (host.isBuiltIn) return host.installationOfOwner(tenantSlug);
  if (reached.length === 1) return reached[0] ?? null;
  const { id } = await asGitUser(parts, who, (user) => user.account());
  return reached.find(({ account }) => account.id === id) ?? null;
}

function missing({ wanted }: Wish) {
  return fail('installation_missing', {
    detail:
      wanted.owner === null && wanted.installationId === null
        ? 'No installation of the app of the git host could be chosen; say whose the repository is to be.'
        : 'The app of the git host is not installed for that owner.',
  });
}
