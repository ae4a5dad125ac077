import { platformTenantId } from '../../plumbing/context.ts';
import { asOperator } from '../../plumbing/operator.ts';
import { issueAccessToken } from '../../users/issue-access-token.ts';
import { type AdminCtx, type Result, UsageError } from '../command.ts';
import { parseDuration } from '../duration.ts';
import { findUserOrFail } from '../find-or-fail.ts';
import { withSystem } from '../system.ts';

const ttlDefault = '1h';

export async function run(ctx: AdminCtx, input: { user: string; ttl: string | undefined }): Promise<Result> {
  const ttlMs = parseDuration(input.ttl ?? ttlDefault);
  if (ttlMs === null) throw new UsageError(`--ttl ${input.ttl} is no duration.`, 'Write e.g. 6s, 10m or 1h.');
  const { token, expiresAt } = await withSystem(ctx, async (system) => {
    const { id } = await findUserOrFail(system, input.user);
    return await asOperator(system, { name: 'tokens.issue', auditTenantId: platformTenantId }, (operator) =>
      issueAccessToken(operator, { userId: id, ttlSeconds: Math.ceil(ttlMs / 1000) }),
    );
  });
  return { json: { access_token: token, expires_at: expiresAt.toISOString() }, text: `${token}\n` };
}
