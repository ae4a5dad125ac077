import type { Args, Flag } from '@svc/cli/framework/declaration.ts';
import { usageError } from '@svc/cli/framework/errors.ts';
import { helpText, usageLine } from '@svc/cli/framework/help.ts';
import { parseArgs } from '@svc/cli/framework/parse.ts';
import { nextWords } from '@svc/cli/framework/program.ts';
import type { Style } from '@svc/cli/framework/text.ts';
import { resolveWords } from '@svc/cli/framework/words.ts';
import packageJson from '../../package.json' with { type: 'json' };
import type { AdminCommand, AdminIo, BatchSystem, Result } from './command.ts';
import { svcAdmin } from './commands.ts';
import { reportError } from './report-error.ts';

const style: Style = { width: null, colour: false, unicode: true };

export async function runAdmin(argv: readonly string[], io: AdminIo): Promise<number> {
  try {
    const line = await parseLine(argv);
    const isJson = line.isJson;
    const result = line.kind === 'result' ? line.result : await runCommand(line, io);
    io.out(isJson ? `${JSON.stringify(result.json)}\n` : result.text);
    return result.exit ?? 0;
  } catch (error) {
    return await reportError(error, io, argv.includes('--json') ? 'json' : 'text');
  }
}

type CommandLine = { kind: 'command'; command: AdminCommand; args: Args; isJson: boolean };
type Line = CommandLine | { kind: 'result'; result: Result; isJson: boolean };

async function parseLine(argv: readonly string[]): Promise<Line> {
  const { kind, words, rest } = await resolveWords(svcAdmin, argv);
  const end = rest.indexOf('--');
  const flags = end === -1 ? rest : rest.slice(0, end);
  const isJson = flags.includes('--json');
  const isHelp = flags.includes('--help') || flags.includes('-h');
  if (!isHelp && flags.includes('--version')) {
    const { version } = packageJson;
    return { kind: 'result', result: { json: { version }, text: `${version}\n` }, isJson };
  }
  if (isHelp || words === '') {
    const result = { json: await helpJson(words), text: await helpText(svcAdmin, words, style) };
    return { kind: 'result', result, isJson };
  }
  if (kind === 'group')
    throw usageError(`svc-admin ${words} needs one of: ${nextWords(svcAdmin, words).join(', ')}.`);
  const command = await svcAdmin.load(words);
  const { args } = await parseArgs(svcAdmin, command, rest, { env: {} });
  return { kind: 'command', command, args, isJson };
}

async function helpJson(words: string): Promise<Record<string, unknown>> {
  const names = svcAdmin.commands.filter((name) => words === '' || `${name} `.startsWith(`${words} `));
  const commands = await Promise.all(names.map(svcAdmin.load));
  return {
    commands: commands.map((command) => ({
      command: command.words,
      summary: command.summary,
      usage: usageLine(svcAdmin, command),
      args: (command.positionals ?? []).map(({ name }) => name),
      flags: Object.entries(command.flags ?? {}).map(([name, flag]) => flagJson(name, flag)),
    })),
  };
}

function flagJson(name: string, flag: Flag): Record<string, unknown> {
  return {
    flag: `--${name}`,
    means: flag.summary,
    value: flag.type === 'boolean' ? undefined : (flag.placeholder ?? flag.type),
    oneOf: flag.type === 'enum' ? flag.values : undefined,
    required: flag.required,
  };
}

async function runCommand(
  { command, args, isJson }: CommandLine,
  io: AdminIo,
  batch?: BatchSystem,
): Promise<Result> {
  const run = await command.load();
  return run(
    {
      ...io,
      note: isJson ? () => {} : (line) => io.err(`${line}\n`),
      say: isJson ? () => {} : io.out,
      batch,
      runLine: async (argv, ofBatch) => {
        const line = await parseLine([...argv, '--json']);
        if (line.kind !== 'command' || line.command === command)
          throw usageError(`${argv.join(' ')} cannot run in a batch.`);
        return runCommand(line, { ...io, stdin: async () => '' }, ofBatch);
      },
    },
    args,
  );
}
