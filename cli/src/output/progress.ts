import type { Ctx } from '../context.ts';

const terminalMsMin = 100;
const elsewhereMsMin = 10_000;
const barChars = 24;

interface ProgressLine {
  /** `text` gets the seconds since the start; `bar` is for terminals only. */
  show(text: (seconds: number) => string, bar?: string): void;
  clear(): void;
}

/** One line on standard error that is redrawn; without a terminal, a new line every ten seconds. */
function startLine(ctx: Ctx, isTerminal: boolean, first: 'at once' | 'later'): ProgressLine {
  const began = performance.now();
  let shownAt = first === 'at once' ? Number.NEGATIVE_INFINITY : began;
  let isShown = false;
  return {
    show: (text, bar = '') => {
      const now = performance.now();
      if (now - shownAt < (isTerminal ? terminalMsMin : elsewhereMsMin)) return;
      shownAt = now;
      isShown = isTerminal;
      const line = text(Math.max(0.001, (now - began) / 1000));
      ctx.io.err(isTerminal ? `\r\u001b[K${bar}${line}` : `${line}\n`);
    },
    clear: () => {
      if (isShown) ctx.io.err('\r\u001b[K');
      isShown = false;
    },
  };
}

const silentLine: ProgressLine = { show: () => {}, clear: () => {} };

export interface RowProgress {
  update(done: { rows: number; bytes: number }): void;
  clear(): void;
}

export async function startRowProgress(
  ctx: Ctx,
  { doing, bytesTotal, rowsBefore = 0 }: { doing: string; bytesTotal: number | null; rowsBefore?: number },
): Promise<RowProgress> {
  const terminal = await ctx.io.isTerminal('stderr');
  const { format, quiet } = ctx.globals;
  // With JSON output, standard error is for the problem object only.
  const isSilent = quiet || (!terminal && (format === 'json' || format === 'jsonl'));
  const line = isSilent ? silentLine : startLine(ctx, terminal, terminal ? 'at once' : 'later');
  return {
    clear: line.clear,
    update: ({ rows, bytes }) => {
      const part = bytesTotal ? Math.min(1, bytes / bytesTotal) : null;
      line.show(
        (seconds) => {
          const perSecond = formatCount(Math.round((rows - rowsBefore) / seconds));
          return `${doing} ${part === null ? '' : `${percent(part)} `}${formatCount(rows)} rows, ${perSecond}/s`;
        },
        part === null ? '' : `${bar(part)} `,
      );
    },
  };
}

export interface ByteProgress {
  add(bytes: number): void;
  clear(): void;
}

export async function startByteProgress(
  ctx: Ctx,
  { doing, bytesTotal }: { doing: string; bytesTotal: number | null },
): Promise<ByteProgress> {
  const isShown = !ctx.globals.quiet && (await ctx.io.isTerminal('stderr'));
  const line = isShown ? startLine(ctx, true, 'at once') : silentLine;
  const total = bytesTotal === null ? '' : ` of ${formatBytes(bytesTotal)}`;
  let done = 0;
  return {
    clear: line.clear,
    add: (bytes) => {
      done += bytes;
      const part = bytesTotal ? percent(Math.min(1, done / bytesTotal)) : '';
      line.show(
        (seconds) => `${doing}${part} ${formatBytes(done)}${total}, ${formatBytes(done / seconds)}/s`,
      );
    },
  };
}

export async function startSiteProgress(
  ctx: Ctx,
  { doing, files, bytes }: { doing: string; files: number; bytes: number },
): Promise<ByteProgress> {
  const { quiet, format } = ctx.globals;
  const isShown = !quiet && format === 'table' && (await ctx.io.isTerminal('stderr'));
  const line = isShown ? startLine(ctx, true, 'later') : silentLine;
  const done = { files: 0, bytes: 0 };
  return {
    clear: line.clear,
    add: (size) => {
      done.files += 1;
      done.bytes += size;
      const part = bytes === 0 ? done.files / files : done.bytes / bytes;
      const counts = `${formatCount(done.files)} of ${formatCount(files)} files, ${formatBytes(done.bytes)}`;
      line.show(() => `${doing} ${bar(Math.min(1, part))} ${Math.floor(part * 100)}% ${counts}`);
    },
  };
}

export function formatCount(number: number): string {
  return number.toLocaleString('en-US');
}

function percent(part: number): string {
  return `${Math.floor(part * 100)}%`.padStart(4);
}

function bar(part: number): string {
  const full = Math.round(part * barChars);
  return `[${'#'.repeat(full)}${'.'.repeat(barChars - full)}]`;
}

const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

export function formatBytes(bytes: number): string {
  let [value, unit] = [bytes, 0];
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}
