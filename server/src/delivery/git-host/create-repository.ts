import type { Caller, MutationCtx } from '../../core/context.ts';
import { runAs } from '../../core/mutation.ts';
import type { RequestInfo } from '../../http/handlers.ts';
import type { Principal } from './authenticate.ts';
import type { GitHostDeps } from './deps.ts';
import { insertRepoRow, type RepoRow } from './repos-store.ts';
import type { RepoOwner } from './repository-access.ts';

export interface NewRepository {
  owner: RepoOwner;
  name: string;
  isPrivate: boolean;
  description: string;
  /** Runs in the transaction that creates the repository. */
  onCreated?: (ctx: MutationCtx, repo: RepoRow) => Promise<void>;
}

interface RepositoryChange {
  deps: GitHostDeps;
  info: RequestInfo;
  principal: Principal;
}

/** Null if the name is in use. */
export async function storeRepository(
  change: RepositoryChange,
  { owner, name, isPrivate, description, onCreated }: NewRepository,
): Promise<RepoRow | null> {
  const { deps, principal } = change;
  const folder = Bun.randomUUIDv7();
  // The folder is created before the row, so that every row has one. A job removes folders that a crash leaves behind.
  await deps.folders.create(folder);
  let repo: RepoRow | null = null;
  try {
    repo = await changeRepositories(change, { tenantId: owner.id, name: 'createRepository' }, async (ctx) => {
      const row = await insertRepoRow(ctx.db, {
        tenant_id: owner.id,
        name,
        folder,
        is_private: isPrivate,
        description,
        created_by: principal.kind === 'user' ? principal.userId : null,
        created_at: ctx.now,
      });
      if (!row) return null;
      ctx.audit({
        action: 'gitHost.createRepository',
        target: { kind: 'repository', id: String(row.id), name: `${owner.slug}/${row.name}` },
        before: null,
        after: { name: row.name, private: row.is_private, description: row.description },
      });
      await onCreated?.(ctx, row);
      return row;
    });
  } finally {
    if (repo === null) await deps.folders.remove(folder);
  }
  return repo;
}

export function changeRepositories<T>(
  { deps, info, principal }: RepositoryChange,
  { tenantId, name }: { tenantId: string; name: string },
  useCase: (ctx: MutationCtx) => Promise<T>,
): Promise<T> {
  const change = { name: `gitHost.${name}`, auditTenantId: tenantId, requestId: info.requestId };
  return runAs({ ...deps, log: info.log }, callerFor(principal), change, useCase);
}

function callerFor(principal: Principal): Caller {
  const never = new Date(8.64e15);
  if (principal.kind === 'user') {
    const { userId, email, name } = principal;
    return { kind: 'login', userId, email, name, credentialId: '', expiresAt: never };
  }
  const by = 'operator';
  return { kind: by, userId: by, email: by, name: by, credentialId: '', expiresAt: never };
}
