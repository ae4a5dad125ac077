import type { RowsCtx } from './context.ts';
import type { RelatedFrame } from './plan-related.ts';
import type { RelatedTable } from './relations.ts';
import type { RowTable } from './row-table.ts';

/** An app asks for related rows in a few ways, with ever new values in the conditions on its own columns. */
const framesMax = 32;
const frames = new WeakMap<RowTable, Map<string, RelatedFrame>>();

/** As planned before for the same table as the same caller sees it, if they still see the related tables in the same way. */
export async function knownFrame(
  ctx: Pick<RowsCtx, 'openRelated' | 'table' | 'search'>,
  tests: string,
  plan: () => Promise<RelatedFrame>,
): Promise<RelatedFrame> {
  const known = frames.get(ctx.table) ?? new Map<string, RelatedFrame>();
  const key = `${tests}&${relatedPairs(ctx.search)}`;
  const found = known.get(key);
  const opened = found && (await reopen(ctx, found));
  if (opened) return { ...found, opened };
  const frame = await plan();
  const [oldest = ''] = known.size >= framesMax ? known.keys() : [];
  known.delete(oldest);
  known.set(key, frame);
  frames.set(ctx.table, known);
  return frame;
}

/** A new decision about access makes a new table. Records of reads belong to one request. */
async function reopen(
  { openRelated }: Pick<RowsCtx, 'openRelated'>,
  frame: RelatedFrame,
): Promise<Map<string, RelatedTable | null> | null> {
  const opened = new Map<string, RelatedTable | null>();
  for (const [tableId, before] of frame.opened) {
    const now = await openRelated(tableId);
    if (now?.table !== before?.table) return null;
    opened.set(tableId, now);
  }
  return opened;
}

/** The query without its page and without conditions whose names have no dot. */
const relatedPairs = (search: string): string =>
  search
    .split('&')
    .filter((pair) => /^_?(?:select|sort|distinct)(?:=|$)|^[^=]*[.%+]/.test(pair))
    .join('&');
