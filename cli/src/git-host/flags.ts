import type { Flags } from '../framework/declaration.ts';

export const approvalFlags = {
  'device-code': {
    type: 'string',
    placeholder: 'code',
    env: 'SVC_GIT_HOST_DEVICE_CODE',
    summary: 'Resume with a code that was issued before',
  },
  'resume-last': {
    type: 'boolean',
    excludes: ['device-code'],
    summary: 'Resume with the last code of this profile',
  },
  'wait-approval': {
    type: 'duration',
    min: '6s',
    max: '10m',
    summary: 'Wait for the approval instead of checking once; with --device-code or --resume-last',
  },
} as const satisfies Flags;

interface ApprovalFlagValues {
  'device-code': string | undefined;
  'resume-last': boolean | undefined;
  'wait-approval': number | undefined;
}

export interface ResumeOptions {
  from: 'last' | { deviceCode: string };
  waitMs: number | null;
}

export function checkApprovalFlags(flags: ApprovalFlagValues): string | undefined {
  const code = flags['device-code'];
  if (code !== undefined && !isDeviceCode(code)) return '--device-code is not a device code.';
  if (flags['wait-approval'] !== undefined && code === undefined && !flags['resume-last'])
    return '--wait-approval requires --device-code or --resume-last.';
  return undefined;
}

export function resumeOptions(flags: ApprovalFlagValues): ResumeOptions | null {
  const waitMs = flags['wait-approval'] ?? null;
  const deviceCode = flags['device-code'];
  if (flags['resume-last']) return { from: 'last', waitMs };
  return deviceCode === undefined ? null : { from: { deviceCode }, waitMs };
}

export const installationFlag = {
  'installation-id': {
    type: 'integer',
    min: 1,
    placeholder: 'id',
    summary: 'Installation of the git host app, from svc git-host installations list',
  },
} as const satisfies Flags;

export function isDeviceCode(text: string): boolean {
  return /^[\x21-\x7e]{1,4000}$/.test(text);
}
