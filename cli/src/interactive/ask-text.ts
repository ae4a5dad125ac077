import { isCancel, TextPrompt } from '@clack/core';
import type { Style } from '../command.ts';
import type { Ctx } from '../context.ts';
import { styleOf, tint } from '../output.ts';
import { notAnswered, restoreTerminal } from '../prompt.ts';

export interface Question {
  message: string;
  /** Taken when nothing is typed. */
  standard?: string;
  /** What is wrong with a text, or nothing. Asked at every key, so that it is told while it can still be mended. */
  judge(text: string): string | undefined;
  /** Asked once, when the text is handed in: for what only the server knows. */
  judgeAtEnd?(text: string): Promise<string | undefined>;
}

/** One line of text, on standard error, so that standard output stays the result. */
export async function askText(ctx: Ctx, question: Question): Promise<string> {
  const style = await styleOf(ctx.io);
  process.once('exit', restoreTerminal);
  const settled = (typed: string) => (typed === '' ? (question.standard ?? '') : typed);
  const prompt = new TextPrompt({
    output: process.stderr,
    signal: ctx.signal,
    ...(question.standard === undefined ? {} : { defaultValue: question.standard }),
    // Keys that come while a promise is open are lost: only the server is waited for.
    validate: (typed) => {
      const text = settled(typed ?? '');
      return question.judge(text) ?? question.judgeAtEnd?.(text);
    },
    // Always two lines: of a frame with fewer than the one before, the library may draw a line that is not there.
    render() {
      const typed = this.userInput;
      if (this.state === 'submit') return `${question.message}: ${settled(typed)}\n`;
      if (this.state === 'cancel') return `${question.message}: ${tint(style, 'dim', typed)}\n`;
      const shown = typed === '' ? offer(style, question.standard ?? '') : this.userInputWithCursor;
      const error = this.state === 'error' ? this.error : '';
      return `${question.message}: ${shown}\n${remark(style, question, typed, error)}`;
    },
  });
  const answer = await prompt.prompt();
  process.off('exit', restoreTerminal);
  if (isCancel(answer) || answer === undefined) throw notAnswered();
  return settled(answer);
}

/** What is taken when nothing is typed, told apart from what is. */
function offer(style: Style, standard: string): string {
  if (standard === '') return '';
  return style.colour ? tint(style, 'dim', standard) : `(${standard})`;
}

/** Under the line: what is wrong so far. An empty line is not wrong before it is handed in. */
function remark(style: Style, question: Question, typed: string, error: string): string {
  const wrong = typed === '' ? error || undefined : (question.judge(typed) ?? (error || undefined));
  if (wrong !== undefined) return tint(style, 'red', `  ${wrong}`);
  return typed === '' ? '' : tint(style, 'dim', '  ok');
}
