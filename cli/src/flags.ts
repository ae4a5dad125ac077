import type { Command, Flag, Flags } from './command.ts';
import { timeoutMsDefault } from './timeout-default.ts';

export const outputFormats = ['table', 'json', 'jsonl', 'yaml'] as const;
export type OutputFormat = (typeof outputFormats)[number];

const timeoutSummary = 'Longest time the command may take';
const timeoutDefault = `${timeoutMsDefault / 1000}s`;

/** Taken by every command, anywhere on the line. A command's own flag of the same name hides one. */
export const globalFlags = {
  tenant: {
    type: 'string',
    placeholder: 'tenant',
    filled: true,
    summary: 'Tenant slug or id; otherwise the one in svc.yaml, or the active tenant',
    env: 'SVC_TENANT',
  },
  profile: {
    type: 'string',
    placeholder: 'name',
    filled: true,
    summary: 'Profile with its own server and login',
    env: 'SVC_PROFILE',
  },
  timeout: {
    ...{ type: 'duration', min: '1ms', max: '24d' },
    summary: `${timeoutSummary} (${timeoutDefault}; commands that wait for something have more)`,
  },
  yes: { type: 'boolean', short: 'y', summary: 'Answer questions with yes' },
  json: { type: 'boolean', summary: 'Same as --output json' },
  output: { type: 'enum', values: outputFormats, short: 'o', summary: 'Format of the result' },
  quiet: { type: 'boolean', summary: 'No notes and no progress' },
  verbose: { type: 'boolean', summary: 'Show each request' },
  version: { type: 'boolean', summary: 'Print the version' },
  help: { type: 'boolean', short: 'h', summary: 'Print help' },
} as const satisfies Flags;

/** Added to every command that changes the platform; `mutation.ts` alone reads them. */
export const mutationFlags = {
  execute: { type: 'boolean', summary: 'Do it; without this the command only previews' },
  'dry-run': { type: 'boolean', summary: 'Preview, which is what happens anyway (default true)' },
  plan: {
    type: 'string',
    placeholder: 'fingerprint',
    summary: 'With --execute: refuse if the preview no longer holds',
  },
} as const satisfies Flags;

/** The flags of a command beyond the global ones. */
export function flagsOf(command: Command): Flags {
  return command.kind === 'mutate' ? { ...command.flags, ...mutationFlags } : (command.flags ?? {});
}

/** The global flags as they count for one command. */
export function globalFlagsOf(command: Command): Flags {
  const summary = `${timeoutSummary} (${command.timeoutDefault ?? timeoutDefault})`;
  return { ...globalFlags, timeout: { ...globalFlags.timeout, summary } };
}

/** Everything the command's line may hold. */
export function allFlagsOf(command: Command): Flags {
  return { ...globalFlagsOf(command), ...flagsOf(command) };
}

export function looksLikeFlag(token: string): boolean {
  return token.length > 1 && token.startsWith('-');
}

/** Every spelling that is taken, dashes included, with the flag it stands for. */
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

/** `--flag=value`, `-o=json`, and `-ojson` for short flags. */
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

/** `-o, --output <table|json|jsonl|yaml>` */
export function flagTerm(name: string, flag: Flag): string {
  const names = [
    flag.short === undefined ? '' : `-${flag.short}`,
    `--${name}`,
    ...(flag.alias ?? []).map((it) => `--${it}`),
  ];
  return [names.filter((it) => it !== '').join(', '), placeholder(flag)].filter((it) => it !== '').join(' ');
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

/** Required, and with no other place that it could come from. */
export function mustBeTyped(flag: Flag): boolean {
  return flag.required === true && flag.manifest === undefined;
}

/** What a flag does, with the rules that are declared about it. */
export function flagText(flag: Flag): string {
  const dashed = (names: readonly string[]) => names.map((name) => `--${name}`).join(', ');
  const rules = [
    flag.retired === undefined ? '' : `retired and ignored: ${flag.retired}`,
    mustBeTyped(flag) ? 'required' : '',
    flag.manifest === undefined ? '' : 'default from svc.yaml',
    flag.requiredUnless ? `required unless ${dashed(flag.requiredUnless)}` : '',
    flag.requires ? `with ${dashed(flag.requires)}` : '',
    flag.excludes ? `not with ${dashed(flag.excludes)}` : '',
    flag.winsOver ? `wins over ${dashed(flag.winsOver)}` : '',
    bounds(flag),
    flag.default === undefined ? '' : `default ${flag.default}`,
    flag.env === undefined ? '' : `env ${flag.env}`,
    flag.repeated || flag.type === 'list' ? 'may be repeated' : '',
  ].filter((rule) => rule !== '');
  return rules.length === 0 ? flag.summary : `${flag.summary} (${rules.join('; ')})`;
}

function bounds(flag: Flag): string {
  if (flag.type !== 'integer' && flag.type !== 'duration') return '';
  if (flag.min !== undefined && flag.max !== undefined) return `${flag.min} to ${flag.max}`;
  if (flag.min !== undefined) return `at least ${flag.min}`;
  return flag.max === undefined ? '' : `at most ${flag.max}`;
}
