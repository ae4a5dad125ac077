import { addPolicyToGrants } from '../../access/grants/grants.ts';
import { covers } from '../../access/grants/rules.ts';
import { tryPolicy } from '../../access/policies/policies.ts';
import type { TenantCtx } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import type { Person } from './reasons.ts';
import type { Resolved, Target } from './resolve.ts';

export type TriedPolicy = Parameters<typeof tryPolicy>[1];
export type Tried = Awaited<ReturnType<typeof tryPolicy>>;

/** Reads as if the policy were stored; nothing of it remains. */
export async function withPolicy<T>(
  ctx: TenantCtx,
  { policy, userId }: { policy: TriedPolicy; userId: string },
  work: (db: Db, tried: Tried) => Promise<T>,
): Promise<T> {
  const tx = await ctx.db.startTransaction().execute();
  try {
    const tried = await tryPolicy({ ...ctx, db: tx }, policy);
    const { row, isNew } = tried;
    // A new policy is named by no grant yet.
    if (isNew && !row.enforced) await addPolicyToGrants(tx, ctx.tenant.id, { userId, policyId: row.id });
    return await work(tx, tried);
  } finally {
    await tx.rollback().execute();
  }
}

/** Says that the answer is about a policy that is not stored like this, and whether the policy matters here. */
export function triedWords(
  { row }: Tried,
  { target, person, value }: { target: Target; person: Person } & Pick<Resolved, 'value'>,
): string {
  const why = isUsed(row, value) ? null : (inapplicableWords(row, target) ?? unusedWords(row, person, value));
  const text = `The policy “${row.name}” is tried without being saved`;
  return why === null ? `${text}.` : `${text}, but does not apply here: ${why}.`;
}

const isUsed = ({ id }: Tried['row'], value: Resolved['value']) =>
  !!value?.access.alternatives.some(({ because }) => because.some((source) => source.id === id));

function inapplicableWords(
  { enabled, connector_id, resource_path }: Tried['row'],
  target: Target,
): string | null {
  if (!enabled) return 'it is disabled';
  const schema = target.kind === 'connector' ? target.schema : target.app.slug;
  if (resource_path !== '' && !covers(resource_path, `${schema}/${target.table}`))
    return `it is for ${resource_path}`;
  // Connectors of the same app share their policies.
  const isShared = target.kind === 'app' || target.connector.kind === 'tables';
  const isOfOther = !isShared && connector_id !== null && connector_id !== target.connector.id;
  return isOfOther ? 'it is for another connector' : null;
}

function unusedWords(
  { enforced }: Tried['row'],
  { isSelf, email }: Person,
  value: Resolved['value'],
): string | null {
  if (!value) return null;
  return enforced
    ? 'it is for another connector or other actions'
    : `no grant that opens the table to ${isSelf ? 'you' : email} names it, or it is for other actions`;
}
