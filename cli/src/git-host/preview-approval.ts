import { pollGitLink } from '@svc/contract/git-host.ts';
import type { Result } from '../command.ts';
import type { Ctx } from '../context.ts';
import { mutate } from '../mutation.ts';
import { within } from '../waiting.ts';
import { requestMs } from './approval.ts';
import type { Resume } from './approval-flags.ts';
import { chosenCode } from './chosen-code.ts';
import type { CodePlace, CodePurpose } from './device-cache.ts';
import { withoutCode } from './show-code.ts';
import { unknownCode } from './unknown-code.ts';

/** What comes of a code once it is approved; the git host is not asked. */
export function previewApproval(
  ctx: Ctx,
  place: CodePlace,
  { from }: Resume,
  purpose: CodePurpose,
): Promise<Result> {
  const { device_code } = chosenCode(ctx, place, { from, purpose });
  const input = { params: { tenantID: place.tenant }, body: { device_code } };
  return mutate(within(withoutCode(ctx), requestMs), pollGitLink, input).catch((cause: unknown) => {
    throw unknownCode(cause);
  });
}
