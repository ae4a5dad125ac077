import type { Result } from './command.ts';
import type { Ctx } from './context.ts';
import { styleOf } from './terminal.ts';

/** The result as text, in the format asked for. */
export async function renderResult(ctx: Ctx, result: Result): Promise<string> {
  switch (ctx.globals.format) {
    case 'json':
      return `${JSON.stringify(result.value ?? null, null, 2)}\n`;
    case 'jsonl':
      return (listOf(result.value) ?? [result.value ?? null])
        .map((row) => `${JSON.stringify(row)}\n`)
        .join('');
    case 'yaml':
      return (await import('yaml')).stringify(result.value ?? null, { aliasDuplicateObjects: false });
    case 'table':
      return renderText(ctx, result);
  }
}

async function renderText(ctx: Ctx, { value, view, text }: Result): Promise<string> {
  const style = await styleOf(ctx.io);
  if (text !== undefined) return text(style);
  const rows = listOf(value);
  if (rows === null) return (await import('./record.ts')).renderRecord(value, view?.fields, style);
  notePaging(ctx, value, rows.length);
  if (rows.length === 0) return '';
  return (await import('./table.ts')).renderTable(rows, view?.columns ?? Object.keys(rows[0] ?? {}), style);
}

function notePaging(ctx: Ctx, value: unknown, shown: number): void {
  if (shown === 0) ctx.note('Nothing found.');
  const page = value as { total?: number; next_cursor?: string | null };
  if (page.total !== undefined && page.total > shown) {
    ctx.note(`Showing ${shown} of ${page.total}; --page and --all show more.`);
  } else if (page.next_cursor) {
    ctx.note('There is more: --all, or --cursor with the next_cursor that --json shows.');
  }
}

/** A collection's entries: a bare array, or the `items` of a page. */
export function listOf(value: unknown): unknown[] | null {
  if (Array.isArray(value)) return value;
  const items = typeof value === 'object' && value !== null && 'items' in value ? value.items : undefined;
  return Array.isArray(items) ? items : null;
}
