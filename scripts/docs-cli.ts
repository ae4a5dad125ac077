import { exitCodes } from '@svc/contract/exit-codes.ts';
import type { Command, Flags, Positional } from '../cli/src/command.ts';
import { flagTerm, flagText, globalFlags, mutationFlags } from '../cli/src/flags.ts';
import { usageLine } from '../cli/src/help.ts';
import { commandWords, groups, loadCommand } from '../cli/src/registry.ts';

/** The reference page of the command line, made from the declarations of the commands. */
export async function cliMarkdown(): Promise<string> {
  const commands = await Promise.all(commandWords.map(loadCommand));
  return [
    '# Commands of svc',
    '<!-- Made from the declarations in cli/src/commands by `npm run docs`; do not edit. -->',
    'A command that changes something previews, and only makes the change with `--execute`. ' +
      '`--json` prints what `svc schema <command>` describes. Results go to standard output, everything else to ' +
      'standard error. What failed is said there last: with `--json` as one problem object, alone on the last line.',
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

/** One chapter per first word, in the order of the list. */
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
    `\`\`\`\n${usageLine(command)}\n\`\`\``,
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
      : [`May take ${command.timeoutDefault} unless \`--timeout\` says otherwise.`]),
    endpoint === undefined && command.calls === undefined
      ? 'Works on this machine and on the sign-in of the server.'
      : `${command.kind === 'mutate' ? 'Previews; changes with `--execute`. ' : ''}Calls \`${command.calls ?? `${endpoint?.method} ${endpoint?.path}`}\`.`,
    `\`\`\`sh\n${command.examples.map(({ line, does }) => `# ${does}\n${line}`).join('\n')}\n\`\`\``,
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
