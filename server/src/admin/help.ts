import { type Command, type Flag, UsageError } from './command.ts';
import { globalFlags, usageOf } from './parse.ts';

/** Help for all commands, for those below a word, or for one. */
export function helpText(words: readonly string[], commands: readonly Command[]): string {
  const [one, ...others] = matching(words, commands);
  if (one && others.length === 0) return helpOfOne(one);
  const listed = one ? [one, ...others] : commands;
  const lines = listed.map((command): [string, string] => [
    [command.words, ...command.args.map((arg) => `<${arg}>`)].join(' '),
    command.summary,
  ]);
  return [
    'svc-admin: operates the platform on the machine that has its database. No login.',
    '',
    'Commands:',
    ...columns(lines),
    '',
    'Flags of every command:',
    ...columns(flagLines(globalFlags)),
    '',
    'It reads the same SVC_… environment variables as the server. `svc-admin <command> --help` says more.',
    '',
  ].join('\n');
}

export function helpJson(words: readonly string[], commands: readonly Command[]): Record<string, unknown> {
  return {
    commands: matching(words, commands).map(({ words: name, summary, args, flags, ...rest }) => ({
      command: name,
      summary,
      usage: usageOf({ words: name, summary, args, flags, ...rest }),
      args,
      flags: Object.entries(flags).map(([flag, facts]) => ({ flag: `--${flag}`, ...facts })),
    })),
  };
}

function matching(words: readonly string[], commands: readonly Command[]): Command[] {
  const exact = commands.find(
    (command) => command.words === words.slice(0, command.words.split(' ').length).join(' '),
  );
  if (exact) return [exact];
  const below = commands.filter((command) => words.length === 0 || command.words.startsWith(`${words[0]} `));
  if (below.length === 0)
    throw new UsageError(`Unknown command ${words.join(' ')}.`, 'svc-admin --help lists all commands.');
  return below;
}

function helpOfOne(command: Command): string {
  const flags = flagLines(command.flags);
  return [
    `${command.summary}.`,
    '',
    `Usage: ${usageOf(command)}`,
    ...(flags.length > 0 ? ['', ...columns(flags)] : []),
    ...(command.notes ? ['', command.notes] : []),
    '',
  ].join('\n');
}

function flagLines(flags: Readonly<Record<string, Flag>>): [string, string][] {
  return Object.entries(flags).map(([name, flag]) => [
    `--${name}${flag.value ? ` <${flag.value}>` : ''}`,
    flag.oneOf ? `${flag.means}: ${flag.oneOf.join(', ')}` : flag.means,
  ]);
}

function columns(lines: readonly [string, string][]): string[] {
  const width = Math.max(...lines.map(([left]) => left.length));
  return lines.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`);
}
