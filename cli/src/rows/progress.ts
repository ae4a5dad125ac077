import type { Ctx } from '../context.ts';

/** How far a long transfer has come, on standard error: a line that moves on a terminal, now and then a line elsewhere. */
export interface Progress {
  update(done: { rows: number; bytes: number }): void;
  /** Leaves nothing on the terminal. */
  clear(): void;
}

const terminalMsMin = 100;
const elsewhereMsMin = 10_000;
const barChars = 24;

export interface ProgressOptions {
  doing: string;
  /** Null where it is not known. */
  bytesTotal: number | null;
  /** Done by an earlier run. */
  rowsBefore?: number;
}

export async function startProgress(
  ctx: Ctx,
  { doing, bytesTotal, rowsBefore = 0 }: ProgressOptions,
): Promise<Progress> {
  const terminal = await ctx.io.isTerminal('stderr');
  const { format, quiet } = ctx.globals;
  // Where machines read standard error too, a problem must stand there alone.
  if (quiet || (!terminal && (format === 'json' || format === 'jsonl'))) return silent;
  const began = performance.now();
  const pauseMs = terminal ? terminalMsMin : elsewhereMsMin;
  let shownAt = terminal ? Number.NEGATIVE_INFINITY : began;
  let shown = false;
  return {
    update: ({ rows, bytes }) => {
      const now = performance.now();
      if (now - shownAt < pauseMs) return;
      shownAt = now;
      const perSecond = Math.round((rows - rowsBefore) / Math.max(0.001, (now - began) / 1000));
      const part = bytesTotal ? Math.min(1, bytes / bytesTotal) : null;
      const text = `${doing} ${part === null ? '' : `${percent(part)} `}${count(rows)} rows, ${count(perSecond)}/s`;
      if (!terminal) return ctx.io.err(`${text}\n`);
      shown = true;
      ctx.io.err(`\r\u001b[K${part === null ? '' : `${bar(part)} `}${text}`);
    },
    clear: () => {
      if (shown) ctx.io.err('\r\u001b[K');
      shown = false;
    },
  };
}

const silent: Progress = { update: () => {}, clear: () => {} };

export function count(number: number): string {
  return number.toLocaleString('en-US');
}

function percent(part: number): string {
  return `${Math.floor(part * 100)}%`.padStart(4);
}

function bar(part: number): string {
  const full = Math.round(part * barChars);
  return `[${'#'.repeat(full)}${'.'.repeat(barChars - full)}]`;
}
