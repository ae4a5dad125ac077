import packageJson from '../../package.json' with { type: 'json' };
import { type AdminIo, type Result, UsageError } from './command.ts';
import { commands } from './commands.ts';
import { helpJson, helpText } from './help.ts';
import { type Invocation, parseInvocation } from './parse.ts';
import { reportError } from './report-error.ts';

/** Runs one command line; the answer is the exit code. */
export async function runAdmin(argv: readonly string[], io: AdminIo): Promise<number> {
  const print = (json: boolean, value: Record<string, unknown>, text: string) =>
    io.out(json ? `${JSON.stringify(value)}\n` : text);
  try {
    const asked = parseInvocation(argv, commands);
    if (asked.kind === 'help') {
      print(asked.json, helpJson(asked.words, commands), helpText(asked.words, commands));
      return 0;
    }
    if (asked.kind === 'version') {
      print(asked.json, { version: packageJson.version }, `${packageJson.version}\n`);
      return 0;
    }
    const result = await runCommand(asked, io);
    print(asked.json, result.json, result.text);
    return result.exit ?? 0;
  } catch (error) {
    return await reportError(error, io, argv.includes('--json') ? 'json' : 'text');
  }
}

async function runCommand(asked: Extract<Invocation, { kind: 'command' }>, io: AdminIo): Promise<Result> {
  const { run } = await asked.command.load();
  const note = asked.json ? () => {} : (line: string) => io.err(`${line}\n`);
  const say = asked.json ? () => {} : io.out;
  const another = async (argv: readonly string[]) => {
    const next = parseInvocation([...argv, '--json'], commands);
    if (next.kind !== 'command' || next.command === asked.command)
      throw new UsageError(`${argv.join(' ')} can not be run here.`);
    return runCommand(next, { ...io, stdin: async () => '' });
  };
  // The declaration has checked that this is what the module takes.
  return run({ ...io, note, say, another }, asked.input as never);
}
