import type { Declaration, Flags } from './declaration.ts';
import { flagTerm, flagText, globalFlagsFor, mustBeTyped, mutationFlags, placeholder } from './flags.ts';
import { pad, textWidth, wrap } from './layout.ts';
import { isCommand, nextWords, type Program } from './program.ts';
import { bold, type Style } from './text.ts';

const widthDefault = 100;

export async function helpText(program: Program, words: string, style: Style): Promise<string> {
  if (isCommand(program, words)) return commandHelp(program, await program.load(words), style);
  const entries = await listEntries(program, words);
  const commands =
    words === '' && program.subjects !== undefined
      ? bySubject(program.subjects, entries, style)
      : section(style, 'Commands', alignedLines(entries, style));
  const usage = [program.name, words, '<command> [arguments] [flags]'].filter((it) => it !== '').join(' ');
  if (words !== '') return groupHelp(program, words, { style, commands, usage });
  return [
    paragraph(style, program.about),
    section(style, 'Usage', [usage]),
    commands,
    section(style, 'Global flags', flagLines(program.globalFlags, style)),
    '\n',
    ...program.notes.map((note) => paragraph(style, note)),
  ].join('');
}

function bySubject(
  subjects: Readonly<Record<string, string>>,
  entries: readonly [string, string][],
  style: Style,
): string {
  const width = Math.max(...entries.map(([name]) => name.length));
  const lines = (names: readonly string[]) => {
    const found = names.flatMap((name) => entries.filter(([entry]) => entry === name));
    return alignedLines(
      found.map(([name, summary]) => [name.padEnd(width), summary] as const),
      style,
    );
  };
  const named = Object.values(subjects).join(' ').split(' ');
  const others = entries.map(([name]) => name).filter((name) => !named.includes(name));
  return [...Object.entries(subjects), ['Other commands', others.join(' ')] as const]
    .map(([title, names]) => section(style, title, lines(names.split(' '))))
    .join('');
}

async function groupHelp(
  program: Program,
  words: string,
  { style, commands, usage }: { style: Style; commands: string; usage: string },
): Promise<string> {
  const { name, groups } = program;
  const alone = groups[words]?.alone;
  const command = alone === undefined ? undefined : await program.load(alone);
  const short = command === undefined ? [] : [usageLine(program, { ...command, words })];
  const about = `${name} ${words} without a command is short for ${name} ${alone}.`;
  return [
    paragraph(style, `${groups[words]?.summary}.`),
    section(style, 'Usage', [usage, ...short]),
    commands,
    command === undefined ? '' : `\n${paragraph(style, about)}${ownSections(command, style)}`,
    `\n${paragraph(style, `Run ${name} ${words} <command> --help for details.`)}`,
  ].join('');
}

export async function listEntries(
  program: Program,
  words: string,
): Promise<[name: string, summary: string][]> {
  const prefix = words === '' ? '' : `${words} `;
  const next =
    program.listsAll && words === ''
      ? program.commands
      : nextWords(program, words).map((word) => `${prefix}${word}`);
  return Promise.all(
    next.map(async (path): Promise<[string, string]> => {
      const summary = isCommand(program, path)
        ? (await program.load(path)).summary
        : program.groups[path]?.summary;
      return [path.slice(prefix.length), summary ?? ''];
    }),
  );
}

function commandHelp(program: Program, command: Declaration, style: Style): string {
  return [
    paragraph(style, `${command.summary}.`),
    command.description === undefined ? '' : `\n${paragraph(style, command.description)}`,
    section(style, 'Usage', wrap(usageLine(program, command), (style.width ?? widthDefault) - 2)),
    ownSections(command, style),
    command.kind === 'mutate' ? section(style, 'Preview and execution', flagLines(mutationFlags, style)) : '',
    section(style, 'Global flags', flagLines(globalFlagsFor(program, command), style)),
    section(style, 'Examples', exampleLines(program, command)),
  ].join('');
}

export function exampleLines({ name }: Pick<Program, 'name'>, { words, examples }: Declaration): string[] {
  return Object.entries(examples ?? {}).flatMap(([rest, does]) => [
    `# ${does}`,
    `${name} ${words} ${rest}`.trimEnd(),
  ]);
}

function ownSections(command: Declaration, style: Style): string {
  const flags = Object.entries(command.flags ?? {}).filter(([, flag]) => !flag.hidden);
  const positionals = (command.positionals ?? []).map((it) => [`<${it.name}>`, it.summary] as const);
  return [
    section(style, 'Arguments', alignedLines(positionals, style)),
    section(style, 'Flags', flagLines(Object.fromEntries(flags), style)),
  ].join('');
}

export function usageLine({ name }: Pick<Program, 'name'>, command: Declaration): string {
  const positionals = (command.positionals ?? []).map((it) => {
    const term = `<${it.name}>${it.repeated ? '...' : ''}`;
    return it.optional ? `[${term}]` : term;
  });
  const required = Object.entries(command.flags ?? {})
    .filter(([, flag]) => mustBeTyped(flag))
    .map(([flagName, flag]) => `--${flagName} ${placeholder(flag)}`);
  return [name, command.words, ...positionals, ...required, '[flags]'].join(' ');
}

function paragraph(style: Style, text: string): string {
  return `${wrap(text, style.width ?? widthDefault).join('\n')}\n`;
}

function flagLines(flags: Flags, style: Style): string[] {
  return alignedLines(
    Object.entries(flags).map(([name, flag]) => [flagTerm(name, flag), flagText(flag)]),
    style,
  );
}

function alignedLines(entries: readonly (readonly [string, string])[], style: Style): string[] {
  const termWidth = Math.min(28, Math.max(0, ...entries.map(([term]) => textWidth(term))));
  const width = style.width ?? widthDefault;
  const room = width - termWidth - 4;
  return entries.flatMap(([term, text]) => {
    if (room < 20) return [term, ...wrap(text, Math.max(10, width - 4)).map((part) => `  ${part}`)];
    const lines = wrap(text, room);
    if (textWidth(term) > termWidth)
      return [term, ...lines.map((part) => `${' '.repeat(termWidth)}  ${part}`)];
    return (lines.length === 0 ? [''] : lines).map((part, at) =>
      `${pad(at === 0 ? term : '', termWidth)}  ${part}`.trimEnd(),
    );
  });
}

function section(style: Style, title: string, lines: readonly string[]): string {
  if (lines.length === 0) return '';
  return `\n${bold(style, title)}\n${lines.map((line) => `  ${line}\n`).join('')}`;
}
