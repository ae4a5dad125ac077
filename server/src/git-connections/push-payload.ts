import { gitCommitPattern, gitRepoPattern } from '@svc/contract/git-names.ts';
import { z } from 'zod';
import { fail } from '../plumbing/problem.ts';

const Payload = z.object({
  ref: z.string().max(1_000),
  after: z.string().regex(gitCommitPattern),
  deleted: z.boolean().default(false),
  repository: z.object({ id: z.int(), full_name: z.string().regex(gitRepoPattern) }),
  // Only who it was is told by it: a push without one counts like any other.
  sender: z.object({ id: z.int() }).nullable().catch(null),
});

export interface Push {
  deliveryId: string;
  repoId: number;
  repo: string;
  branch: string;
  commit: string;
  isDeleted: boolean;
  /** The account that pushed, by its number at the host. */
  accountId: number | null;
}

/** Null: it is about a tag, which nothing is deployed from. */
export function readPush(deliveryId: string, text: string): Push | null {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw fail('malformed_json', {}, { cause: error });
  }
  const parsed = Payload.safeParse(json);
  if (!parsed.success) throw fail('validation_failed', { detail: 'The body does not tell of a push.' });
  const { ref, after, deleted, repository, sender } = parsed.data;
  if (!ref.startsWith('refs/heads/')) return null;
  return {
    ...{ deliveryId, repoId: repository.id, repo: repository.full_name },
    ...{ branch: ref.slice('refs/heads/'.length), commit: after, isDeleted: deleted },
    accountId: sender?.id ?? null,
  };
}
