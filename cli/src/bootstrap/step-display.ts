import type { Style } from '../command.ts';
import type { Ctx } from '../context.ts';
import { plain, styleOf, tint } from '../output.ts';
import { cut, pad } from '../text-width.ts';
import type { RunRecord } from './run-record.ts';

/** The steps of a run on standard error: a picture that changes where somebody looks, otherwise a line per change. */
export interface StepDisplay {
  show(run: RunRecord): void;
}

type Step = RunRecord['steps'][number];

export async function startStepDisplay(ctx: Ctx): Promise<StepDisplay> {
  const { io, globals } = ctx;
  if (globals.quiet) return { show: () => {} };
  const isLive = (await io.isTerminal('stderr')) && io.env.TERM !== 'dumb';
  if (!isLive) return plainLines(ctx);
  const style = {
    ...(await styleOf(io)),
    colour: !io.env.NO_COLOR,
    width: Number(io.env.COLUMNS) || ((await io.terminalColumns()) ?? 80),
  };
  return livePicture(ctx, style);
}

function plainLines(ctx: Ctx): StepDisplay {
  const told = new Map<string, string>();
  return {
    show: ({ state, steps }) => {
      if (state === 'awaiting_approval' && !told.has(''))
        ctx.say('It waits for your approval at the git host.');
      if (state === 'awaiting_approval') told.set('', state);
      for (const step of steps) {
        const line = `${step.name}: ${step.state}${step.detail === '' ? '' : ` (${plain(step.detail)})`}`;
        if (step.state === 'waiting' || told.get(step.name) === line) continue;
        told.set(step.name, line);
        ctx.say(line);
      }
    },
  };
}

/** A line that wrapped would be counted as one, and the picture would climb: each is cut to fit. */
function livePicture({ io }: Ctx, style: Style & { width: number }): StepDisplay {
  let shown: string[] = [];
  return {
    show: ({ steps }) => {
      const lines = steps.map((step) => stepLine(step, io.now(), style));
      if (lines.length === shown.length && lines.every((line, at) => line === shown[at])) return;
      const up = shown.length === 0 ? '' : `\u001b[${shown.length}A`;
      io.err(`${up}${lines.map((line) => `\r\u001b[K${line}\n`).join('')}`);
      shown = lines;
    },
  };
}

function stepLine(step: Step, now: Date, style: Style & { width: number }): string {
  const took = step.started_at === null ? '' : secondsText(step, now);
  const text = `${pad(step.name, 14)}${pad(took, 6)} ${plain(step.detail)}`.trimEnd();
  return `${mark(step, style)} ${cut(text, Math.max(1, style.width - 4), style)}`;
}

/** The two clocks may differ: what has not begun here yet has taken no time. */
function secondsText({ started_at, ended_at }: Step, now: Date): string {
  const end = ended_at === null ? now.getTime() : Date.parse(ended_at);
  return `${Math.max(0, Math.round((end - Date.parse(started_at ?? '')) / 1000))}s`;
}

function mark({ state }: Step, style: Style): string {
  switch (state) {
    case 'done':
      return tint(style, 'green', style.unicode ? '✓' : '+');
    case 'failed':
      return tint(style, 'red', style.unicode ? '✗' : 'x');
    case 'running':
      return tint(style, 'yellow', style.unicode ? '…' : '>');
    case 'waiting':
      return tint(style, 'dim', style.unicode ? '·' : '.');
  }
}
