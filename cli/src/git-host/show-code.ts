import type { Result } from '../command.ts';
import type { Ctx } from '../context.ts';
import { sanitize } from '../framework/text.ts';
import { commandLine, executeLine } from '../output/plan.ts';
import type { DeviceCode } from './code-store.ts';

/** Printed even with --quiet, because the approval needs it. */
export function showCode(ctx: Ctx, { user_code, verification_uri }: DeviceCode): void {
  if (user_code === null) ctx.io.err('The code is not yet approved at the git host.\n');
  else if (isWebUrl(verification_uri))
    ctx.io.err(`Open ${sanitize(verification_uri)} and enter the code ${sanitize(user_code)}\n`);
  else ctx.io.err(`Enter the code ${sanitize(user_code)} at the git host, which returned no valid URL.\n`);
}

export function isWebUrl(text: string | null): text is string {
  const url = text === null ? null : URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '';
}

export function pendingResult(ctx: Ctx, code: DeviceCode, issued: { device_code?: string } = {}): Result {
  ctx.say(`After the approval: ${resumeLine(ctx, code)}`);
  const { user_code, verification_uri, expires_at, interval_seconds, next_poll_at, run_id } = code;
  const value = {
    status: 'pending',
    ...issued,
    user_code,
    verification_uri,
    expires_at,
    interval_seconds,
    next_poll_at,
    run_id,
  };
  return { value, text: () => '', exit: 11 };
}

const resumeFlags = ['--resume-last', '--wait-approval', '10m'];

/** The command line that resumes with the code; never contains the code. */
export function resumeLine(ctx: Ctx, { purpose, run_id }: Pick<DeviceCode, 'purpose' | 'run_id'>): string {
  if (purpose === 'connect') {
    const typed = ctx.mutation.argv;
    const stored = typed.filter(
      (token, at) =>
        !/^--(?:device-code|resume-last|wait-approval)(?:=|$)/.test(token) &&
        !['--device-code', '--wait-approval'].includes(typed[at - 1] ?? ''),
    );
    return executeLine([...stored, ...resumeFlags]);
  }
  const { tenant, profile } = ctx.globals;
  const where = [
    ...(tenant === undefined ? [] : ['--tenant', tenant]),
    ...(profile === undefined ? [] : ['--profile', profile]),
  ];
  return purpose === 'bootstrap' && run_id !== null
    ? commandLine(['apps', 'bootstrap', ...resumeFlags, ...where, '--watch', '--execute'])
    : commandLine(['git-host', 'link', ...resumeFlags, ...where]);
}

export function redactDeviceCode(ctx: Ctx): Ctx {
  const typed = ctx.mutation.argv;
  const argv = typed.map((token, at) => {
    if (token.startsWith('--device-code=')) return '--device-code=<code>';
    return typed[at - 1] === '--device-code' ? '<code>' : token;
  });
  return { ...ctx, mutation: { ...ctx.mutation, argv } };
}

/** The table output does not show `changed`. */
export function printUnchangedNote(ctx: Ctx, result: Result): Result {
  const isSame = Reflect.get(Object(result.value), 'changed') === false;
  if (isSame && ctx.globals.format === 'table')
    ctx.note('The repository was already connected like this. Nothing has changed.');
  return result;
}
