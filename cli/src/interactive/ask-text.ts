import { isCancel, TextPrompt } from '@clack/core';
import { CliError } from '../errors.ts';
import { restoreTerminal } from '../prompt.ts';

export interface Question {
  message: string;
  /** Taken when nothing is typed. */
  standard?: string;
  /** What is wrong with a text, or nothing. Asked at every key, so that it is told while it can still be mended. */
  judge(text: string): string | undefined;
  /** Asked once, when the text is handed in: for what only the server knows. */
  judgeAtEnd?(text: string): Promise<string | undefined>;
}

const red = (text: string) => `\u001b[31m${text}\u001b[39m`;
const dim = (text: string) => `\u001b[2m${text}\u001b[22m`;

/** One line of text, on standard error, so that standard output stays the result. */
export async function askText(question: Question, signal: AbortSignal): Promise<string> {
  process.once('exit', restoreTerminal);
  const settled = (typed: string) => (typed === '' ? (question.standard ?? '') : typed);
  const prompt = new TextPrompt({
    output: process.stderr,
    signal,
    ...(question.standard === undefined ? {} : { defaultValue: question.standard }),
    // Keys that come while a promise is open are lost: only the server is waited for.
    validate: (typed) => {
      const text = settled(typed ?? '');
      return question.judge(text) ?? question.judgeAtEnd?.(text);
    },
    render() {
      const typed = this.userInput;
      if (this.state === 'submit') return `${question.message}: ${settled(typed)}`;
      if (this.state === 'cancel') return `${question.message}: ${dim(typed)}`;
      const shown = typed === '' ? dim(question.standard ?? '') : this.userInputWithCursor;
      return `${question.message}: ${shown}\n${remark(question, typed, this.state === 'error' ? this.error : '')}`;
    },
  });
  const answer = await prompt.prompt();
  process.off('exit', restoreTerminal);
  if (isCancel(answer) || answer === undefined) throw new CliError('interrupted', 'Interrupted.');
  return settled(answer);
}

/** Under the line: what is wrong so far. An empty line is not wrong before it is handed in. */
function remark(question: Question, typed: string, error: string): string {
  const wrong = typed === '' ? error || undefined : (question.judge(typed) ?? (error || undefined));
  if (wrong !== undefined) return red(`  ${wrong}`);
  return typed === '' ? '' : dim('  ok');
}
