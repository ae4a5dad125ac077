import { confirm as ask, password as askHidden, isCancel, text } from '@clack/prompts';
import { CliError } from './errors.ts';

/** Asks on standard error, because standard output is for the result. */
export async function confirm(question: string, signal: AbortSignal): Promise<boolean> {
  process.once('exit', restoreTerminal);
  const answer = await ask({ message: question, initialValue: false, output: process.stderr, signal });
  process.off('exit', restoreTerminal);
  if (isCancel(answer)) throw notAnsweredError();
  return answer;
}

export async function confirmTyped(name: string, signal: AbortSignal): Promise<boolean> {
  process.once('exit', restoreTerminal);
  const answer = await text({ message: `Type ${name} to execute this`, output: process.stderr, signal });
  process.off('exit', restoreTerminal);
  if (isCancel(answer)) throw notAnsweredError();
  return answer === name;
}

export async function password(question: string, signal: AbortSignal): Promise<string> {
  process.once('exit', restoreTerminal);
  const answer = await askHidden({ message: question, output: process.stderr, signal });
  process.off('exit', restoreTerminal);
  if (isCancel(answer)) throw notAnsweredError();
  return answer;
}

export function notAnsweredError(): CliError {
  return new CliError('interrupted', 'Interrupted; nothing was changed.');
}

/** After an exit during a prompt, typing would stay invisible. */
export function restoreTerminal(): void {
  if (process.stdin.isTTY) process.stdin.setRawMode(false);
  process.stderr.write('\u001b[?25h');
}
