import type { Result } from '../command.ts';
import type { Ctx } from '../context.ts';
import type { Env, Io } from '../framework/io.ts';
import type { Style } from '../framework/text.ts';
import { listItems, renderRecord } from './record.ts';

export function renderResult(ctx: Ctx, result: Result): string | Promise<string> {
  switch (ctx.globals.format) {
    case 'json':
      return `${JSON.stringify(result.value ?? null, null, 2)}\n`;
    case 'jsonl':
      return (listItems(result.value) ?? [result.value ?? null])
        .map((row) => `${JSON.stringify(row)}\n`)
        .join('');
    case 'yaml':
      return import('yaml').then(({ stringify }) =>
        stringify(result.value ?? null, { aliasDuplicateObjects: false }),
      );
    case 'csv':
      return import('./table.ts').then(({ renderCsv }) => renderCsv(ctx, result));
    case 'table':
      return detectStyle(ctx.io).then((style) => renderText(ctx, result, style));
  }
}

function renderText(ctx: Ctx, { value, view, text }: Result, style: Style): string | Promise<string> {
  const { columns } = ctx.globals;
  if (text !== undefined && columns === undefined) return text(style);
  const rows = listItems(value);
  if (rows === null && columns === undefined)
    return renderRecord(value, view?.fields, style, ctx.globals.wide || view?.exact ? null : ctx.io.now());
  if (rows !== null) printPagingNote(ctx, { value, view }, rows.length);
  if (rows?.length === 0) return '';
  return import('./table.ts').then(({ renderTable }) => renderTable(ctx, { value, view }, style));
}

function printPagingNote(ctx: Ctx, { value, view }: Pick<Result, 'value' | 'view'>, shown: number): void {
  if (shown === 0) ctx.note(view?.empty?.(Object(value)) ?? 'Nothing found.');
  const page = value as { total?: number; next_cursor?: string | null };
  if (page.total !== undefined && page.total > shown) {
    ctx.note(`Showing ${shown} of ${page.total}; use --page or --all for more.`);
  } else if (page.next_cursor) {
    ctx.note('More entries: use --all, or --cursor with the next_cursor of --json.');
  }
}

export function detectStyle(io: Io): Promise<Style> {
  return io.isTerminal('stdout').then(async (terminal) => ({
    width: Number(io.env.COLUMNS) > 0 ? Number(io.env.COLUMNS) : terminal ? await io.terminalColumns() : null,
    colour: terminal && !io.env.NO_COLOR && io.env.TERM !== 'dumb',
    unicode: supportsUnicode(io.env),
  }));
}

/** Without a character set in the environment the locale is `C`: use ASCII. */
export function supportsUnicode(env: Env): boolean {
  const locale = env.LC_ALL || env.LC_CTYPE || env.LANG || '';
  return /utf-?8/i.test(locale);
}
