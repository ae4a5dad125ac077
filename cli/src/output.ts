import type { Column, Result, Style } from './command.ts';
import type { Ctx } from './context.ts';
import type { Io } from './io.ts';
import type { Env } from './parse.ts';

/** The result as text, in the format asked for. */
export function renderResult(ctx: Ctx, result: Result): string | Promise<string> {
  switch (ctx.globals.format) {
    case 'json':
      return `${JSON.stringify(result.value ?? null, null, 2)}\n`;
    case 'jsonl':
      return (listOf(result.value) ?? [result.value ?? null])
        .map((row) => `${JSON.stringify(row)}\n`)
        .join('');
    case 'yaml':
      return import('yaml').then(({ stringify }) =>
        stringify(result.value ?? null, { aliasDuplicateObjects: false }),
      );
    case 'table':
      return styleOf(ctx.io).then((style) => renderText(ctx, result, style));
  }
}

function renderText(ctx: Ctx, { value, view, text }: Result, style: Style): string | Promise<string> {
  if (text !== undefined) return text(style);
  const rows = listOf(value);
  if (rows === null) return renderRecord(value, view?.fields, style);
  notePaging(ctx, value, rows.length);
  if (rows.length === 0) return '';
  return renderRows(rows, view?.columns ?? Object.keys(rows[0] ?? {}), style);
}

async function renderRows(rows: readonly unknown[], shown: readonly Column[], style: Style): Promise<string> {
  const columns = shown.map(columnOf);
  const { tableLines } = await import('./table.ts');
  const lines = tableLines(
    {
      titles: columns.map((column) => column.name.replaceAll(/[_.]/g, ' ').toUpperCase()),
      // What a row is named by must stay whole, to be copied into the next command.
      keep: columns.map((_, at) => at === 0),
      rows: rows.map((row) => columns.map((column) => column.value(row))),
    },
    style,
  );
  if (lines !== null) return `${[bold(style, lines[0] ?? ''), ...lines.slice(1)].join('\n')}\n`;
  return (await Promise.all(rows.map((row) => renderRecord(row, shown, style)))).join('\n');
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

/** A collection's entries: a bare array, the `items` of a page, or the `data` and `has_more` of a page of rows. */
export function listOf(value: unknown): unknown[] | null {
  if (Array.isArray(value)) return value;
  const page = asRecord(value);
  const items = page.has_more === undefined ? page.items : page.data;
  return Array.isArray(items) ? items : null;
}

/** How to lay out the result: `COLUMNS` and `NO_COLOR` are honoured, colours only go to a terminal. */
export function styleOf(io: Io): Promise<Style> {
  return io.isTerminal('stdout').then(async (terminal) => ({
    width: Number(io.env.COLUMNS) > 0 ? Number(io.env.COLUMNS) : terminal ? await io.terminalColumns() : null,
    colour: terminal && !io.env.NO_COLOR && io.env.TERM !== 'dumb',
    unicode: speaksUnicode(io.env),
  }));
}

/** Without a word about the character set the locale is `C`, and plain ASCII is never wrong. */
export function speaksUnicode(env: Env): boolean {
  const locale = env.LC_ALL || env.LC_CTYPE || env.LANG || '';
  return /utf-?8/i.test(locale);
}

export function bold(style: Style, text: string): string {
  return style.colour ? `\u001b[1m${text}\u001b[22m` : text;
}

export function tint(style: Style, colour: 'red' | 'green' | 'yellow' | 'dim', text: string): string {
  if (!style.colour) return text;
  const code = { red: 31, green: 32, yellow: 33, dim: 2 }[colour];
  return `\u001b[${code}m${text}\u001b[${colour === 'dim' ? 22 : 39}m`;
}

/**
 * Text from the server as one line that can not steer the terminal: control characters become visible, and
 * the marks that reverse reading direction go away.
 */
export function plain(text: string): string {
  if (/^[\x20-\x7e]*$/.test(text)) return text;
  return text
    .replace(/\r?\n/g, ' ')
    .replace(/\t/g, ' ')
    .replace(/\p{Cc}/gu, (char) => `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`)
    .replace(/[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '');
}

/** One record as `name  value` lines; on a terminal, values too long for that go on below. */
export function renderRecord(
  record: unknown,
  shown: readonly Column[] | undefined,
  style: Style,
): string | Promise<string> {
  const columns = (shown ?? Object.keys(asRecord(record))).map(columnOf);
  let nameWidth = 0;
  for (const { name } of columns) nameWidth = Math.max(nameWidth, name.length);
  const { width } = style;
  if (width !== null) {
    const fields = columns.map((column) => ({ name: column.name, value: column.value(record) || '-' }));
    return import('./fields.ts').then(({ fieldLines }) =>
      fieldLines(fields, { nameWidth, width, bold: (text) => bold(style, text) }),
    );
  }
  let text = '';
  for (const column of columns) text += `${column.name.padEnd(nameWidth)}  ${column.value(record) || '-'}\n`;
  return text;
}

export interface ReadyColumn {
  name: string;
  value: (record: unknown) => string;
}

export function columnOf(column: Column): ReadyColumn {
  if (typeof column !== 'string') {
    return { name: column.title, value: (record) => cell(column.value(asRecord(record))) };
  }
  const path = column.split('.');
  return {
    name: column,
    value: (record) => cell(path.reduce<unknown>((at, key) => asRecord(at)[key], record)),
  };
}

/** A value as one line of text. */
export function cell(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value) && value.every((entry) => typeof entry !== 'object'))
    return value.map(cell).join(', ');
  return plain(typeof value === 'object' ? JSON.stringify(value) : String(value));
}

function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
