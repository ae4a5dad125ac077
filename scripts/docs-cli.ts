import { exitCodes } from '@svc/contract/exit-codes.ts';
import type { Command } from '../cli/src/command.ts';
import type { Flags, Positional } from '../cli/src/framework/declaration.ts';
import { flagTerm, flagText, mutationFlags } from '../cli/src/framework/flags.ts';
import { exampleLines, usageLine } from '../cli/src/framework/help.ts';
import { globalFlags } from '../cli/src/global-flags.ts';
import { commandWords, groups, svc } from '../cli/src/registry.ts';

export async function cliMarkdown(): Promise<string> {
  const commands = await Promise.all(commandWords.map(svc.load));
  return [
    '# Commands of svc',
    '<!-- Made from the declarations in cli/src/commands by `npm run docs`; do not edit. -->',
    'A command that changes something previews, and only makes the change with `--execute`. ' +
      '`--json` prints what `svc schema <command>` describes. Results go to standard output, everything else to ' +
      'standard error. An error is printed there last: with `--json` as one problem object, alone on the last line.',
    section('Global flags', flagTable(globalFlags)),
    section('Flags of every command that changes something', flagTable(mutationFlags)),
    section(
      'Exit codes',
      table(
        ['Code', 'Meaning'],
        Object.entries(exitCodes).map(([code, meaning]) => [code, meaning]),
      ),
    ),
    ...chapters(commands),
  ]
    .join('\n\n')
    .concat('\n');
}

function chapters(commands: readonly Command[]): string[] {
  const byGroup = Map.groupBy(commands, ({ words }) => words.split(' ')[0] ?? '');
  return [...byGroup].flatMap(([word, members]) => {
    const group = groups[word];
    const intro = group === undefined ? [] : [`${group.summary}.`];
    return [`## ${word}`, ...intro, ...members.map((command) => chapter(command, group !== undefined))];
  });
}

function chapter(command: Command, inGroup: boolean): string {
  const positionals: readonly Positional[] = command.positionals ?? [];
  const visible = Object.entries(command.flags ?? {}).filter(([, flag]) => !flag.hidden);
  const { endpoint } = command;
  return [
    ...(inGroup ? [`### ${command.words}`] : []),
    `${command.summary}.${command.description === undefined ? '' : ` ${command.description}`}`,
    `\`\`\`\n${usageLine(svc, command)}\n\`\`\``,
    ...(positionals.length === 0
      ? []
      : [
          table(
            ['Argument', 'Meaning'],
            positionals.map((it) => [`\`<${it.name}>\``, it.summary]),
          ),
        ]),
    ...(visible.length === 0 ? [] : [flagTable(Object.fromEntries(visible))]),
    ...(command.timeoutDefault === undefined
      ? []
      : [`Waits up to ${command.timeoutDefault}; \`--timeout\` changes this limit.`]),
    endpoint === undefined && command.calls === undefined
      ? 'Uses this machine and the sign-in endpoints of the server only.'
      : `${command.kind === 'mutate' ? 'Previews; changes with `--execute`. ' : ''}Calls \`${command.calls ?? `${endpoint?.method} ${endpoint?.path}`}\`.`,
    `\`\`\`sh\n${exampleLines(svc, command).join('\n')}\n\`\`\``,
  ].join('\n\n');
}

function section(title: string, body: string): string {
  return `## ${title}\n\n${body}`;
}

function flagTable(flags: Flags): string {
  return table(
    ['Flag', 'Meaning'],
    Object.entries(flags).map(([name, flag]) => [`\`${flagTerm(name, flag)}\``, flagText(flag)]),
  );
}

function table(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(titles), `|${' --- |'.repeat(titles.length)}`, ...rows.map(line)].join('\n');
}
