import type { Result } from '../command.ts';
import type { Ctx } from '../context.ts';
import { plain } from '../output.ts';
import { executeLine } from '../plan-text.ts';
import { commandLine } from '../quote.ts';
import type { DeviceCode } from './device-cache.ts';

/** Even with --quiet: nobody can approve without these two. The secret beside them is never shown. */
export function showCode(ctx: Ctx, { user_code, verification_uri }: DeviceCode): void {
  if (user_code === null) ctx.io.err('The code is still to be approved at the git host.\n');
  else if (isWebAddress(verification_uri))
    ctx.io.err(`Open ${plain(verification_uri)} and enter the code ${plain(user_code)}\n`);
  else ctx.io.err(`Enter the code ${plain(user_code)} at the git host; the address it gave is not one.\n`);
}

export function isWebAddress(text: string | null): text is string {
  const url = text === null ? null : URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '';
}

/** What is left to a person is told, and exits with 11. */
export function pendingResult(ctx: Ctx, code: DeviceCode, issued: { device_code?: string } = {}): Result {
  ctx.say(`When it is approved: ${resumeLine(ctx, code)}`);
  const { user_code, verification_uri, expires_at, interval_seconds, next_poll_at, run_id } = code;
  const value = {
    ...{ status: 'pending', ...issued, user_code, verification_uri, expires_at },
    ...{ interval_seconds, next_poll_at, run_id },
  };
  return { value, text: () => '', exit: 11 };
}

const goOn = ['--resume-last', '--wait-approval', '10m'];

/** The line that goes on with the code; never with the code in it. */
export function resumeLine(ctx: Ctx, { purpose, run_id }: Pick<DeviceCode, 'purpose' | 'run_id'>): string {
  if (purpose === 'connect') {
    const typed = ctx.mutation.argv;
    const kept = typed.filter(
      (token, at) =>
        !/^--(?:device-code|resume-last|wait-approval)(?:=|$)/.test(token) &&
        !['--device-code', '--wait-approval'].includes(typed[at - 1] ?? ''),
    );
    return executeLine([...kept, ...goOn]);
  }
  const { tenant, profile } = ctx.globals;
  const where = [
    ...(tenant === undefined ? [] : ['--tenant', tenant]),
    ...(profile === undefined ? [] : ['--profile', profile]),
  ];
  return purpose === 'bootstrap' && run_id !== null
    ? commandLine(['apps', 'bootstrap', ...goOn, ...where, '--watch', '--execute'])
    : commandLine(['git-host', 'link', ...goOn, ...where]);
}

/** The context with a line that can be shown: what follows --device-code is a secret. */
export function withoutCode(ctx: Ctx): Ctx {
  const typed = ctx.mutation.argv;
  const argv = typed.map((token, at) => {
    if (token.startsWith('--device-code=')) return '--device-code=<code>';
    return typed[at - 1] === '--device-code' ? '<code>' : token;
  });
  return { ...ctx, mutation: { ...ctx.mutation, argv } };
}
