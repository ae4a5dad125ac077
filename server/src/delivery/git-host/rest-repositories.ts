import { gitRepoNamePattern } from '@svc/contract/git-names.ts';
import { z } from 'zod';
import { listOwnTenants } from '../../people/tenants/tenants.ts';
import { repositoryJson } from './github-json.ts';
import { deleteRepoRow } from './host-store.ts';
import {
  changeRepositories,
  type RepoOwner,
  removeFolderTopic,
  resolveOwner,
  storeRepository,
} from './repositories.ts';
import {
  forbiddenError,
  GitHubError,
  githubResponse,
  notFoundError,
  param,
  parseBody,
  type RestCall,
  repositoryView,
  requireRepository,
  requireUser,
  requireWritableRepository,
  validationError,
} from './rest-call.ts';

const descriptionCharsMax = 350;

const NewRepository = z.object({
  name: z.string().min(1),
  description: z.string().max(descriptionCharsMax).nullish(),
  private: z.boolean().optional(),
  visibility: z.enum(['public', 'private', 'internal']).optional(),
});

export async function getRepository(call: RestCall): Promise<Response> {
  return githubResponse(
    repositoryJson(call.deps.urls, await repositoryView(call.deps, await requireRepository(call))),
  );
}

export async function createOrgRepository(call: RestCall): Promise<Response> {
  const { principal } = call;
  if (principal.kind === 'app' || (principal.kind === 'installation' && !principal.mayWrite))
    throw forbiddenError();
  const owner = await resolveOwner(call.deps, principal, param(call, 'owner'));
  if (!owner) throw notFoundError();
  return createRepository(call, owner);
}

/** Users own no repositories here: this works only for members of exactly one tenant. */
export async function createUserRepository(call: RestCall): Promise<Response> {
  const { userId, email, name } = requireUser(call);
  const { db, now } = call.deps;
  const caller = { kind: 'login', userId, email, name, credentialId: '', expiresAt: now() } as const;
  const [tenant, ...more] = await listOwnTenants({ db, caller });
  if (!tenant || more.length > 0)
    throw new GitHubError(422, 'Repositories belong to organizations here: choose one of yours.');
  return createRepository(call, { id: tenant.id, slug: tenant.slug });
}

async function createRepository(call: RestCall, owner: RepoOwner): Promise<Response> {
  const { deps } = call;
  const body = await parseBody(call, NewRepository, 'Repository');
  if (!gitRepoNamePattern.test(body.name))
    throw validationError({ resource: 'Repository', field: 'name', code: 'invalid' });
  const repo = await storeRepository(call, {
    owner,
    name: body.name,
    isPrivate: body.private ?? body.visibility === 'private',
    description: body.description ?? '',
  });
  if (!repo) throw nameTakenError();
  const access = { repo, owner, canFetch: true, canPush: true };
  return githubResponse(repositoryJson(deps.urls, await repositoryView(deps, access)), { status: 201 });
}

export async function deleteRepository(call: RestCall): Promise<Response> {
  const { repo, owner } = await requireWritableRepository(call);
  await changeRepositories(call, { tenantId: owner.id, name: 'deleteRepository' }, async (ctx) => {
    if (!(await deleteRepoRow(ctx.db, owner.id, repo.id))) throw notFoundError();
    ctx.audit({
      action: 'gitHost.deleteRepository',
      target: { kind: 'repository', id: String(repo.id), name: `${owner.slug}/${repo.name}` },
      before: { name: repo.name, private: repo.is_private, description: repo.description },
      after: null,
    });
    ctx.enqueue(removeFolderTopic, { folder: repo.folder });
  });
  return new Response(null, { status: 204 });
}

function nameTakenError(): GitHubError {
  const message = 'name already exists on this account';
  const error = { resource: 'Repository', field: 'name', code: 'custom', message } as const;
  return new GitHubError(422, 'Repository creation failed.', [error]);
}
