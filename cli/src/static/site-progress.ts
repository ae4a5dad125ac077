import type { Ctx } from '../context.ts';
import { count } from '../rows/progress.ts';
import { readable } from '../storage/byte-progress.ts';

/** A bar on standard error, for somebody who looks at a terminal; nothing elsewhere. */
export interface SiteProgress {
  /** One more file is done. */
  add(bytes: number): void;
  /** Leaves nothing on the terminal. */
  clear(): void;
}

const pauseMs = 100;
const barChars = 24;
const silent: SiteProgress = { add: () => {}, clear: () => {} };

export async function startSiteProgress(
  ctx: Ctx,
  { doing, files, bytes }: { doing: string; files: number; bytes: number },
): Promise<SiteProgress> {
  const { quiet, format } = ctx.globals;
  if (quiet || format !== 'table' || !(await ctx.io.isTerminal('stderr'))) return silent;
  const done = { files: 0, bytes: 0 };
  // What is done at once needs no bar.
  let [shownAt, isShown] = [performance.now(), false];
  return {
    add: (size) => {
      done.files += 1;
      done.bytes += size;
      const now = performance.now();
      if (now - shownAt < pauseMs) return;
      shownAt = now;
      isShown = true;
      const part = bytes === 0 ? done.files / files : done.bytes / bytes;
      const counted = `${count(done.files)} of ${count(files)} files, ${readable(done.bytes)}`;
      ctx.io.err(`\r\u001b[K${doing} ${bar(part)} ${Math.floor(part * 100)}% ${counted}`);
    },
    clear: () => {
      if (isShown) ctx.io.err('\r\u001b[K');
      isShown = false;
    },
  };
}

function bar(part: number): string {
  const full = Math.round(Math.min(1, part) * barChars);
  return `[${'#'.repeat(full)}${'.'.repeat(barChars - full)}]`;
}
