import { randomBytes } from 'node:crypto';
import { sha256 } from '../plumbing/canonical.ts';
import type { Caller } from '../plumbing/context.ts';
import type { Db } from '../plumbing/db.ts';
import { sitePaths } from './site-paths.ts';
import type { SiteTarget } from './site-target.ts';
import { insertCodeRow } from './store.ts';

export const codeSecondsMax = 60;

/** The address at the site that signs the caller in there, once; `state` binds it to the browser that has it. */
export async function makeCode(
  { db, now }: { db: Db; now: Date },
  input: { appId: string; target: SiteTarget; caller: Caller; state: string | null },
): Promise<{ redirectUrl: string; expiresAt: Date }> {
  const { target, caller, state } = input;
  const code = randomBytes(32).toString('base64url');
  const expiresAt = new Date(now.getTime() + codeSecondsMax * 1000);
  await insertCodeRow(db, {
    code_hash: sha256(code),
    app_id: input.appId,
    origin: target.origin,
    user_id: caller.userId,
    credential_id: caller.credentialId,
    state_hash: state === null ? null : sha256(state),
    created_at: now,
    expires_at: expiresAt,
  });
  const query = new URLSearchParams({ code, ...(state === null ? {} : { state }), to: target.path });
  return { redirectUrl: `${target.origin}${sitePaths.auth}?${query}`, expiresAt };
}
