import { userTokenOf } from '../../git-connections/user-token-of.ts';
import type { Step } from '../step-work.ts';

/** Done as soon as the person has an account at the git host; where that is built in, from the beginning. */
export const authorize: Step = async ({ parts, run }) => {
  await userTokenOf(parts, { tenantId: run.tenant_id, userId: run.created_by });
  return async () => ({ state: 'done', output: {}, detail: 'Your account at the git host is linked.' });
};
