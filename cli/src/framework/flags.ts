import type { Declaration, Flag, Flags } from './declaration.ts';
import type { Program } from './program.ts';

export const mutationFlags = {
  execute: { type: 'boolean', summary: 'Make the change; without this flag the command only previews' },
  'dry-run': { type: 'boolean', summary: 'Preview only, which is the default' },
  plan: {
    type: 'string',
    placeholder: 'fingerprint',
    summary: 'With --execute: fail if the preview has changed',
  },
} as const satisfies Flags;

export function commandFlags({ kind, flags }: Declaration): Flags {
  return kind === 'mutate' ? { ...flags, ...mutationFlags } : (flags ?? {});
}

export function globalFlagsFor(program: Program, command: Declaration): Flags {
  const { globalFlags } = program;
  const { timeout } = globalFlags;
  if (timeout === undefined) return globalFlags;
  const summary = `Time limit of the command (${command.timeoutDefault ?? program.timeoutDefault})`;
  return { ...globalFlags, timeout: { ...timeout, summary } };
}

export function allFlags(program: Program, command: Declaration): Flags {
  return { ...globalFlagsFor(program, command), ...commandFlags(command) };
}

export function looksLikeFlag(token: string): boolean {
  return token.length > 1 && token.startsWith('-');
}

export function flagNames(flags: Flags): Map<string, string> {
  const names = new Map<string, string>();
  for (const name in flags) {
    const flag = flags[name];
    names.set(`--${name}`, name);
    for (const alias of flag?.alias ?? []) names.set(`--${alias}`, name);
    if (flag?.short !== undefined) names.set(`-${flag.short}`, name);
  }
  return names;
}

export function splitFlag(
  token: string,
  names: ReadonlyMap<string, string>,
): { typed: string; inline?: string } {
  const equals = token.indexOf('=');
  if (equals > 0) return { typed: token.slice(0, equals), inline: token.slice(equals + 1) };
  const short = token.slice(0, 2);
  if (!token.startsWith('--') && token.length > 2 && names.has(short))
    return { typed: short, inline: token.slice(2) };
  return { typed: token };
}

export function flagTerm(name: string, flag: Flag): string {
  const short = flag.short === undefined ? [] : [`-${flag.short}`];
  const names = [...short, ...[name, ...(flag.alias ?? [])].map((it) => `--${it}`)].join(', ');
  const value = placeholder(flag);
  return value === '' ? names : `${names} ${value}`;
}

export function placeholder(flag: Flag): string {
  switch (flag.type) {
    case 'boolean':
      return '';
    case 'enum':
      return `<${flag.values.join('|')}>`;
    case 'list':
      return `<${flag.placeholder ?? flag.values?.join('|') ?? 'text'},...>`;
    case 'string':
      return `<${flag.placeholder ?? 'text'}>`;
    case 'integer':
    case 'duration':
    case 'time':
      return `<${flag.placeholder ?? flag.type}>`;
  }
}

export function mustBeTyped(flag: Flag): boolean {
  return flag.required === true && flag.manifest === undefined;
}

export function flagText(flag: Flag): string {
  const flagList = (names: readonly string[]) => names.map((name) => `--${name}`).join(', ');
  const rules = [
    flag.retired === undefined ? '' : `retired and ignored: ${flag.retired}`,
    mustBeTyped(flag) ? 'required' : '',
    flag.manifest === undefined ? '' : 'default from svc.yaml',
    flag.requiredUnless ? `required unless ${flagList(flag.requiredUnless)}` : '',
    flag.requires ? `with ${flagList(flag.requires)}` : '',
    flag.excludes ? `not with ${flagList(flag.excludes)}` : '',
    flag.winsOver ? `overrides ${flagList(flag.winsOver)}` : '',
    bounds(flag),
    flag.default === undefined ? '' : `default ${flag.default}`,
    flag.env === undefined ? '' : `env ${flag.env}`,
    flag.repeated || flag.type === 'list' ? 'repeatable' : '',
  ].filter((rule) => rule !== '');
  return rules.length === 0 ? flag.summary : `${flag.summary} (${rules.join('; ')})`;
}

function bounds(flag: Flag): string {
  if (flag.type !== 'integer' && flag.type !== 'duration') return '';
  if (flag.min !== undefined && flag.max !== undefined) return `${flag.min} to ${flag.max}`;
  if (flag.min !== undefined) return `at least ${flag.min}`;
  return flag.max === undefined ? '' : `at most ${flag.max}`;
}
