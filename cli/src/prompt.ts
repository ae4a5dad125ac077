import { confirm as ask, isCancel, text } from '@clack/prompts';
import { CliError } from './errors.ts';

/** Asks on the terminal, on standard error, so that standard output stays the result. */
export async function confirm(question: string, signal: AbortSignal): Promise<boolean> {
  process.once('exit', restoreTerminal);
  const answer = await ask({ message: question, initialValue: false, output: process.stderr, signal });
  process.off('exit', restoreTerminal);
  if (isCancel(answer)) throw notAnswered();
  return answer;
}

/** Anything but the very name is a no. */
export async function confirmTyped(name: string, signal: AbortSignal): Promise<boolean> {
  process.once('exit', restoreTerminal);
  const answer = await text({ message: `Type ${name} to execute this`, output: process.stderr, signal });
  process.off('exit', restoreTerminal);
  if (isCancel(answer)) throw notAnswered();
  return answer === name;
}

/** At a question nothing has been sent yet. */
export function notAnswered(): CliError {
  return new CliError('interrupted', 'Interrupted; nothing was changed.');
}

/** For an end in the middle of the question: typing would stay invisible otherwise. */
export function restoreTerminal(): void {
  if (process.stdin.isTTY) process.stdin.setRawMode(false);
  process.stderr.write('\u001b[?25h');
}
