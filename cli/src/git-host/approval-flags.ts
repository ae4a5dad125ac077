import type { Flags } from '../command.ts';
import { isDeviceCode } from './is-device-code.ts';

/** For commands that may have to wait for a person at the git host. */
export const approvalFlags = {
  'device-code': {
    type: 'string',
    placeholder: 'code',
    env: 'SVC_GIT_HOST_DEVICE_CODE',
    summary: 'Go on with a code that was issued before',
  },
  'resume-last': {
    type: 'boolean',
    excludes: ['device-code'],
    summary: 'Go on with the last code of this profile',
  },
  'wait-approval': {
    type: 'duration',
    min: '6s',
    max: '10m',
    summary:
      'Keep waiting for the approval; otherwise it is asked for once. With --device-code or --resume-last',
  },
} as const satisfies Flags;

export interface ApprovalFlagValues {
  'device-code': string | undefined;
  'resume-last': boolean | undefined;
  'wait-approval': number | undefined;
}

/** Which code to go on with, and for how long. */
export interface Resume {
  /** `last`: the one that is kept. */
  from: 'last' | { deviceCode: string };
  /** `null`: asked once. */
  waitMs: number | null;
}

export function checkApprovalFlags(flags: ApprovalFlagValues): string | undefined {
  const code = flags['device-code'];
  if (code !== undefined && !isDeviceCode(code)) return '--device-code does not hold a device code.';
  if (flags['wait-approval'] !== undefined && code === undefined && !flags['resume-last'])
    return '--wait-approval goes with --device-code or --resume-last.';
  return undefined;
}

export function resumeOf(flags: ApprovalFlagValues): Resume | null {
  const waitMs = flags['wait-approval'] ?? null;
  const deviceCode = flags['device-code'];
  if (flags['resume-last']) return { from: 'last', waitMs };
  return deviceCode === undefined ? null : { from: { deviceCode }, waitMs };
}
