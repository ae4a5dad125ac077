import type { Command, Flags, Style } from './command.ts';
import {
  flagTerm,
  flagText,
  globalFlags,
  globalFlagsOf,
  mustBeTyped,
  mutationFlags,
  placeholder,
} from './flags.ts';
import { bold } from './output.ts';
import { groups, isCommand, loadCommand, nextWords } from './registry.ts';
import { pad, widthOf, wrap } from './text-width.ts';

const widthDefault = 100;

/** Help of a command, of a group, or with no words of `svc` itself. */
export async function helpText(words: string, style: Style): Promise<string> {
  return isCommand(words) ? commandHelp(await loadCommand(words), style) : groupHelp(words, style);
}

async function groupHelp(words: string, style: Style): Promise<string> {
  const entries = await entriesBelow(words);
  const usage = ['svc', words, '<command> [arguments] [flags]'].filter((it) => it !== '').join(' ');
  const alone = groups[words]?.alone;
  const stands = alone === undefined ? undefined : await loadCommand(alone);
  const short = stands === undefined ? [] : [usageLine({ ...stands, words })];
  const commands = section(style, 'Commands', listing(entries, style));
  if (words !== '') {
    return [
      paragraph(style, `${groups[words]?.summary}.`),
      section(style, 'Usage', [usage, ...short]),
      commands,
      stands === undefined
        ? ''
        : `\n${paragraph(style, `svc ${words} alone is svc ${alone}, and takes what that takes.`)}${ownParts(stands, style)}`,
      `\n${paragraph(style, `svc ${words} <command> --help says more.`)}`,
    ].join('');
  }
  return [
    paragraph(style, 'svc manages an application platform from the command line.'),
    section(style, 'Usage', [usage]),
    commands,
    section(style, 'Global flags', flagLines(globalFlags, style)),
    `\n${paragraph(style, 'Commands that change something only preview; --execute makes the change.')}`,
    paragraph(style, 'svc <command> --help says more; svc exit-codes lists the exit codes.'),
  ].join('');
}

function paragraph(style: Style, text: string): string {
  return `${wrap(text, style.width ?? widthDefault).join('\n')}\n`;
}

/** The words that may come next, with what they do; a group stands as one entry. */
export async function entriesBelow(words: string): Promise<[name: string, summary: string][]> {
  const prefix = words === '' ? '' : `${words} `;
  return Promise.all(
    nextWords(words).map(async (word): Promise<[string, string]> => {
      const path = `${prefix}${word}`;
      return [word, isCommand(path) ? (await loadCommand(path)).summary : (groups[path]?.summary ?? '')];
    }),
  );
}

export function commandHelp(command: Command, style: Style): string {
  return [
    paragraph(style, `${command.summary}.`),
    command.description === undefined ? '' : `\n${paragraph(style, command.description)}`,
    section(style, 'Usage', wrap(usageLine(command), (style.width ?? widthDefault) - 2)),
    ownParts(command, style),
    command.kind === 'mutate' ? section(style, 'Preview and execution', flagLines(mutationFlags, style)) : '',
    section(style, 'Global flags', flagLines(globalFlagsOf(command), style)),
    section(
      style,
      'Examples',
      command.examples.flatMap(({ line, does }) => [`# ${does}`, line]),
    ),
  ].join('');
}

/** What the command takes beyond what all take. */
function ownParts(command: Command, style: Style): string {
  const flags = Object.entries(command.flags ?? {}).filter(([, flag]) => !flag.hidden);
  const positionals = (command.positionals ?? []).map((it) => [`<${it.name}>`, it.summary] as const);
  return [
    section(style, 'Arguments', listing(positionals, style)),
    section(style, 'Flags', flagLines(Object.fromEntries(flags), style)),
  ].join('');
}

export function usageLine(command: Command): string {
  const positionals = (command.positionals ?? []).map((it) => {
    const name = `<${it.name}>${it.repeated ? '...' : ''}`;
    return it.optional ? `[${name}]` : name;
  });
  const required = Object.entries(command.flags ?? {})
    .filter(([, flag]) => mustBeTyped(flag))
    .map(([name, flag]) => `--${name} ${placeholder(flag)}`);
  return ['svc', command.words, ...positionals, ...required, '[flags]'].join(' ');
}

function flagLines(flags: Flags, style: Style): string[] {
  return listing(
    Object.entries(flags).map(([name, flag]) => [flagTerm(name, flag), flagText(flag)]),
    style,
  );
}

function listing(entries: readonly (readonly [string, string])[], style: Style): string[] {
  const termWidth = Math.min(28, Math.max(0, ...entries.map(([term]) => widthOf(term))));
  const room = (style.width ?? widthDefault) - termWidth - 4;
  return entries.flatMap(([term, text]) => {
    if (room < 20)
      return [
        term,
        ...wrap(text, Math.max(10, (style.width ?? widthDefault) - 4)).map((part) => `  ${part}`),
      ];
    const lines = wrap(text, room);
    if (widthOf(term) > termWidth) return [term, ...lines.map((part) => `${' '.repeat(termWidth)}  ${part}`)];
    return (lines.length === 0 ? [''] : lines).map((part, at) =>
      `${pad(at === 0 ? term : '', termWidth)}  ${part}`.trimEnd(),
    );
  });
}

function section(style: Style, title: string, lines: readonly string[]): string {
  if (lines.length === 0) return '';
  return `\n${bold(style, title)}\n${lines.map((line) => `  ${line}\n`).join('')}`;
}
