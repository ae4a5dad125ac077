import type { Args, Flag } from '@svc/cli/framework/declaration.ts';
import { CliError, clientCodes, usageError } from '@svc/cli/framework/errors.ts';
import { helpText, usageLine } from '@svc/cli/framework/help.ts';
import { parseArgs } from '@svc/cli/framework/parse.ts';
import { nextWords } from '@svc/cli/framework/program.ts';
import { type Report, renderReport } from '@svc/cli/framework/report.ts';
import type { Style } from '@svc/cli/framework/text.ts';
import { resolveWords } from '@svc/cli/framework/words.ts';
import { errorCodes } from '@svc/contract/error-codes.ts';
import type { ExitCode } from '@svc/contract/exit-codes.ts';
import packageJson from '../../package.json';
import { ConfigError } from '../core/config-error.ts';
import type { AdminCommand, AdminIo, BatchSystem, Result } from './command.ts';
import { svcAdmin } from './commands.ts';

type Failed = Omit<Report['problem'], 'type' | 'request_id' | 'status'> & { exit: ExitCode; status?: number };

async function reportError(error: unknown, io: AdminIo, format: 'json' | 'text'): Promise<ExitCode> {
  const { exit, status = 0, ...failed } = await describe(error);
  const type = `urn:svc:problem:${failed.code}`;
  const report: Report = { exit, problem: { type, status, request_id: '', ...failed } };
  io.err(renderReport(report, format));
  return exit;
}

async function describe(error: unknown): Promise<Failed> {
  if (error instanceof CliError) {
    const { exit, title } = clientCodes[error.code];
    return { exit, code: error.code, title, detail: error.message, next: error.next };
  }
  if (error instanceof ConfigError) {
    return { exit: 2, code: 'configuration', title: 'Invalid configuration', detail: error.message };
  }
  const described = await describePlatformError(error);
  if (described) return described;
  const detail = error instanceof Error ? error.message : String(error);
  const next = 'Run svc-admin doctor to look for the cause.';
  return { exit: 1, code: 'failed', title: 'Command failed', detail, next };
}

async function describePlatformError(error: unknown): Promise<Failed | null> {
  const { Failure } = await import('../core/problem.ts');
  const { databaseError } = await import('../core/db.ts');
  const { DatabaseError } = await import('../drivers/database/connect.ts');
  const { MigrationError } = await import('../core/migrate.ts');
  if (error instanceof DatabaseError) {
    const exits: Partial<Record<typeof error.code, ExitCode>> = {
      unreachable: 12,
      bad_url: 2,
      data_dir_in_use: 6,
      busy: 6,
      running_elsewhere: 6,
    };
    return { exit: exits[error.code] ?? 1, code: error.code, title: 'Database error', detail: error.message };
  }
  if (error instanceof MigrationError) {
    const exit = error.code === 'locked' ? 6 : 1;
    return { exit, code: `migration_${error.code}`, title: 'Migration error', detail: error.message };
  }
  const failure = error instanceof Failure ? error : databaseError(error);
  if (!failure) return null;
  const { means, status, exit } = errorCodes[failure.code];
  const cause = failure.cause instanceof Error ? ` ${failure.cause.message}` : '';
  const { code, errors } = failure;
  const detail = `${failure.detail ?? means}${failure === error ? '' : cause}`;
  return { exit, code, title: means, status, detail, errors };
}

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
