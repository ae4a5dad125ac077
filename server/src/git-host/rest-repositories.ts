import { gitRepoNamePattern } from '@svc/contract/git-names.ts';
import { z } from 'zod';
import type { Caller, MutationCtx } from '../plumbing/context.ts';
import { runMutation } from '../plumbing/mutation.ts';
import { listOwnTenants } from '../tenants/list-own-tenants.ts';
import { repositoryAnswer } from './answers.ts';
import { forbidden, GitHubRefusal, githubJson, notFound, unprocessable } from './github-answer.ts';
import { type Owner, reachOwner } from './reach-repo.ts';
import { removeFolderTopic } from './remove-folder.ts';
import { deleteRepoRow, insertRepoRow, type RepoRow } from './repos-store.ts';
import { answered, asUser, bodyOf, param, type RestCall, reachedRepo, writableRepo } from './rest-call.ts';

const descriptionCharsMax = 350;

const NewRepository = z.object({
  name: z.string().min(1),
  description: z.string().max(descriptionCharsMax).nullish(),
  private: z.boolean().optional(),
  visibility: z.enum(['public', 'private', 'internal']).optional(),
});

export async function getRepository(call: RestCall): Promise<Response> {
  return githubJson(repositoryAnswer(call.parts.urls, await answered(call.parts, await reachedRepo(call))));
}

export async function createOrgRepository(call: RestCall): Promise<Response> {
  const { principal } = call;
  if (principal.kind === 'app' || (principal.kind === 'installation' && !principal.mayWrite))
    throw forbidden();
  const owner = await reachOwner(call.parts, principal, param(call, 'owner'));
  if (!owner) throw notFound();
  return createIn(call, owner);
}

/** People own nothing here: it is for who is in one tenant alone. */
export async function createUserRepository(call: RestCall): Promise<Response> {
  const { userId, email, name } = asUser(call);
  const { db, now } = call.parts;
  const caller = { kind: 'login', userId, email, name, credentialId: '', expiresAt: now() } as const;
  const [tenant, ...more] = await listOwnTenants({ db, caller });
  if (!tenant || more.length > 0)
    throw new GitHubRefusal(422, 'Repositories belong to organizations here: name one of yours.');
  return createIn(call, { id: tenant.id, slug: tenant.slug });
}

async function createIn(call: RestCall, owner: Owner): Promise<Response> {
  const { parts, principal } = call;
  const body = await bodyOf(call, NewRepository, 'Repository');
  if (!gitRepoNamePattern.test(body.name))
    throw unprocessable({ resource: 'Repository', field: 'name', code: 'invalid' });
  const folder = Bun.randomUUIDv7();
  // Before the row: a repository that is known is there. What a crash leaves in between, the sweep removes.
  await parts.folders.create(folder);
  let repo: RepoRow | null = null;
  try {
    repo = await change(call, owner, 'createRepository', async (ctx) => {
      const row = await insertRepoRow(ctx.db, {
        tenant_id: owner.id,
        name: body.name,
        folder,
        is_private: body.private ?? body.visibility === 'private',
        description: body.description ?? '',
        created_by: principal.kind === 'user' ? principal.userId : null,
        created_at: ctx.now,
      });
      if (!row) throw nameTaken();
      ctx.audit({
        action: 'gitHost.createRepository',
        target: { kind: 'repository', id: String(row.id), name: `${owner.slug}/${row.name}` },
        before: null,
        after: { name: row.name, private: row.is_private, description: row.description },
      });
      return row;
    });
  } finally {
    if (repo === null) await parts.folders.remove(folder);
  }
  const reached = { repo, owner, canFetch: true, canPush: true };
  return githubJson(repositoryAnswer(parts.urls, await answered(parts, reached)), { status: 201 });
}

export async function deleteRepository(call: RestCall): Promise<Response> {
  const { repo, owner } = await writableRepo(call);
  await change(call, owner, 'deleteRepository', async (ctx) => {
    if (!(await deleteRepoRow(ctx.db, owner.id, repo.id))) throw notFound();
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

/** One transaction, audited as everything that changes is. */
async function change<T>(
  { parts, info, principal }: RestCall,
  owner: Owner,
  name: string,
  verb: (ctx: MutationCtx) => Promise<T>,
): Promise<T> {
  let value: { is: T } | undefined;
  await runMutation(
    { ...parts, caller: callerOf(principal), requestId: info.requestId, log: info.log },
    {
      mode: 'execute',
      operation: { id: `gitHost.${name}`, irreversible: false },
      auditTenantId: owner.id,
      verb: async (ctx) => {
        value = { is: await verb(ctx) };
        return { status: 200, headers: {}, body: '' };
      },
    },
  );
  if (!value) throw new Error(`${name} ended without a value.`);
  return value.is;
}

/** What the app does, the platform does. */
function callerOf(principal: RestCall['principal']): Caller {
  const never = new Date(8.64e15);
  if (principal.kind === 'user') {
    const { userId, email, name } = principal;
    return { kind: 'login', userId, email, name, credentialId: '', expiresAt: never };
  }
  const operator = 'operator';
  return {
    kind: operator,
    userId: operator,
    email: operator,
    name: operator,
    credentialId: '',
    expiresAt: never,
  };
}

function nameTaken(): GitHubRefusal {
  return new GitHubRefusal(422, 'Repository creation failed.', [
    {
      resource: 'Repository',
      field: 'name',
      code: 'custom',
      message: 'name already exists on this account',
    },
  ]);
}
