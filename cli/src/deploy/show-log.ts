import type { Result } from '../command.ts';
import type { Ctx } from '../context.ts';
import { CliError } from '../errors.ts';
import { styleOf } from '../output.ts';
import { lineText } from './line-text.ts';
import { type Line, type LogPlace, logLines } from './log-lines.ts';
import { whyNoLog } from './why-no-log.ts';

/** The log as it is now, as a list. */
export async function showLog(ctx: Ctx, place: LogPlace, tail: number | undefined): Promise<Result> {
  const lines: Line[] = [];
  for await (const some of logLines(ctx, place, { tail, until: 'there' })) lines.push(...some);
  if (lines.length === 0) ctx.note((await whyNoLog(ctx, place)) ?? 'Nothing was written yet.');
  return { value: lines, text: (style) => lines.map((line) => lineText(line, style)).join('') };
}

/** The log as it grows, until nothing will follow, or until who looks has seen enough. */
export async function followLog(ctx: Ctx, place: LogPlace, tail: number | undefined): Promise<Result> {
  const render = await rendererOf(ctx);
  const onNothing = async () => {
    const why = await whyNoLog(ctx, place);
    if (why !== null) ctx.say(why);
  };
  try {
    for await (const some of logLines(ctx, place, { tail, until: 'ended', onNothing }))
      await ctx.io.out(some.map(render).join(''));
  } catch (cause) {
    // To stop looking is how this ends.
    if (cause instanceof CliError && cause.code === 'interrupted')
      return { value: [], printed: true, exit: 130 };
    if (cause instanceof CliError && cause.code === 'timeout' && ctx.signal.aborted)
      return { value: [], printed: true, failed: stopped(ctx) };
    throw cause;
  }
  return { value: [], printed: true };
}

function stopped(ctx: Ctx): CliError {
  const detail = `It was followed for ${ctx.globals.timeoutMs / 1000}s.`;
  return new CliError('wait_timeout', detail, { next: 'Follow it for longer with --timeout.' });
}

async function rendererOf(ctx: Ctx): Promise<(line: Line) => string> {
  switch (ctx.globals.format) {
    case 'json':
    case 'jsonl':
      return (line) => `${JSON.stringify(line)}\n`;
    case 'yaml': {
      const { stringify } = await import('yaml');
      return (line) => stringify([line]);
    }
    case 'table': {
      const style = await styleOf(ctx.io);
      return (line) => lineText(line, style);
    }
  }
}
