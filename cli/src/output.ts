import type { Result } from './command.ts';
import type { Ctx } from './context.ts';

/** Writes the result of a command to standard output, in the format asked for. */
export async function printResult(ctx: Ctx, result: Result): Promise<void> {
  const text = await renderResult(ctx, result);
  if (text !== '') await ctx.io.out(text);
}

async function renderResult(ctx: Ctx, result: Result): Promise<string> {
  switch (ctx.globals.format) {
    case 'json':
      return `${JSON.stringify(result.value ?? null, null, 2)}\n`;
    case 'jsonl':
      return rowsOf(result.value)
        .map((row) => `${JSON.stringify(row)}\n`)
        .join('');
    case 'yaml':
      return (await import('yaml')).stringify(result.value ?? null, { aliasDuplicateObjects: false });
    case 'table':
      return renderText(ctx, result);
  }
}

async function renderText(ctx: Ctx, result: Result): Promise<string> {
  const { styleOf } = await import('./terminal.ts');
  const style = await styleOf(ctx.io);
  if (result.text !== undefined) return result.text(style);
  const { renderFields, renderTable } = await import('./table.ts');
  const rows = listOf(result.value);
  if (rows === null) return renderFields(result.value, result.view?.fields, style);
  notePaging(ctx, result.value, rows.length);
  return rows.length === 0
    ? ''
    : renderTable(rows, result.view ?? { columns: Object.keys(rows[0] ?? {}) }, style);
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

function rowsOf(value: unknown): unknown[] {
  return listOf(value) ?? [value ?? null];
}
