import type { Column, Result, Style } from './command.ts';
import type { Ctx } from './context.ts';
import type { Io } from './io.ts';
import type { Env } from './parse.ts';

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
  if (rows === null) return renderRecord(value, view?.fields, style);
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

/** How to lay out the result: `COLUMNS` and `NO_COLOR` are honoured, colours only go to a terminal. */
export async function styleOf(io: Io): Promise<Style> {
  const terminal = await io.isTerminal('stdout');
  const asked = Number(io.env.COLUMNS);
  const width = Number.isInteger(asked) && asked > 0 ? asked : terminal ? await io.terminalColumns() : null;
  const colour = terminal && !io.env.NO_COLOR && io.env.TERM !== 'dumb';
  return { width, colour, unicode: speaksUnicode(io.env) };
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

const gap = '  ';

/** One record as `name  value` lines; values too long for that go on below. */
export async function renderRecord(
  record: unknown,
  fields: readonly Column[] | undefined,
  style: Style,
): Promise<string> {
  const columns = (fields ?? Object.keys(asRecord(record))).map(columnOf);
  const nameWidth = columns.reduce((most, column) => Math.max(most, column.name.length), 0);
  const line = (name: string, value: string) => `${bold(style, name.padEnd(nameWidth))}${gap}${value}\n`;
  const { width } = style;
  if (width === null) return columns.map((column) => line(column.name, column.value(record) || '-')).join('');
  const { widthOf, wrap } = await import('./text-width.ts');
  const room = width - nameWidth - gap.length;
  return columns
    .map((column) => {
      const value = column.value(record) || '-';
      if (widthOf(value) <= room) return line(column.name, value);
      if (room >= 20) return line(column.name, wrap(value, room).join(`\n${' '.repeat(nameWidth)}${gap}`));
      const below = wrap(value, Math.max(10, width - gap.length)).map((part) => `${gap}${part}\n`);
      return `${bold(style, column.name)}\n${below.join('')}`;
    })
    .join('');
}

export interface ReadyColumn {
  name: string;
  /** Ids and secrets are useless when cut. */
  keep: boolean;
  value: (record: unknown) => string;
}

export function columnOf(column: Column): ReadyColumn {
  if (typeof column !== 'string') {
    return { name: column.title, keep: false, value: (record) => cell(column.value(asRecord(record))) };
  }
  const path = column.split('.');
  return {
    name: column,
    keep: column === 'id' || column.endsWith('_id') || column === 'secret',
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
