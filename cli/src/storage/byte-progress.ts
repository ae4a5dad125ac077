import type { Ctx } from '../context.ts';

/** How far a transfer has come, on standard error: a line that moves, where somebody looks. */
export interface ByteProgress {
  add(bytes: number): void;
  /** Leaves nothing on the terminal. */
  clear(): void;
}

const pauseMs = 100;
const silent: ByteProgress = { add: () => {}, clear: () => {} };

export async function startByteProgress(
  ctx: Ctx,
  { doing, bytesTotal }: { doing: string; bytesTotal: number | null },
): Promise<ByteProgress> {
  if (ctx.globals.quiet || !(await ctx.io.isTerminal('stderr'))) return silent;
  const began = performance.now();
  let [done, shownAt, isShown] = [0, Number.NEGATIVE_INFINITY, false];
  return {
    add: (bytes) => {
      done += bytes;
      const now = performance.now();
      if (now - shownAt < pauseMs) return;
      shownAt = now;
      isShown = true;
      const rate = `${readable(done / Math.max(0.001, (now - began) / 1000))}/s`;
      const part = bytesTotal ? `${Math.floor(Math.min(1, done / bytesTotal) * 100)}%`.padStart(4) : '';
      const total = bytesTotal === null ? '' : ` of ${readable(bytesTotal)}`;
      ctx.io.err(`\r\u001b[K${doing}${part} ${readable(done)}${total}, ${rate}`);
    },
    clear: () => {
      if (isShown) ctx.io.err('\r\u001b[K');
      isShown = false;
    },
  };
}

const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

/** `1.5 MiB` */
export function readable(bytes: number): string {
  let [value, unit] = [bytes, 0];
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}
