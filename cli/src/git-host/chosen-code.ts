import type { Ctx } from '../context.ts';
import { CliError } from '../errors.ts';
import type { Resume } from './approval-flags.ts';
import { type CodePlace, type CodePurpose, type DeviceCode, readCode } from './device-cache.ts';

/** RFC 8628 §3.2. */
export const intervalSecondsDefault = 5;

/** The code to go on with: the kept one, or the one that was given. */
export function chosenCode(
  ctx: Ctx,
  place: CodePlace,
  { from, purpose }: Pick<Resume, 'from'> & { purpose: CodePurpose },
): DeviceCode {
  const kept = readCode(ctx, place);
  if (from === 'last') {
    if (kept !== null) return kept;
    throw new CliError('no_device_code', `No code is kept for profile ${place.profile} in this tenant.`, {
      next: 'Run the command without --resume-last for a new one.',
    });
  }
  if (kept?.device_code === from.deviceCode) return kept;
  return {
    ...{ device_code: from.deviceCode, user_code: null, verification_uri: null, expires_at: null },
    ...{ interval_seconds: intervalSecondsDefault, next_poll_at: ctx.io.now().toISOString() },
    ...{ purpose, run_id: null },
  };
}
