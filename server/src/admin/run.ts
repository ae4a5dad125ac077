import packageJson from '../../package.json' with { type: 'json' };
import type { AdminIo } from './command.ts';
import { commands } from './commands.ts';
import { helpJson, helpText } from './help.ts';
import { parseInvocation } from './parse.ts';
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
    const { run } = await asked.command.load();
    // The declaration has checked that this is what the module takes.
    const note = asked.json ? () => {} : (line: string) => io.err(`${line}\n`);
    const result = await run({ ...io, note }, asked.input as never);
    print(asked.json, result.json, result.text);
    return result.exit ?? 0;
  } catch (error) {
    return await reportError(error, io, argv.includes('--json') ? 'json' : 'text');
  }
}
