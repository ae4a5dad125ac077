import { csvRecord } from '@svc/contract/csv.ts';
import { uuidPattern } from '@svc/contract/limits.ts';
import type { Column, Result, View } from '../command.ts';
import type { Ctx } from '../context.ts';
import { usageError } from '../framework/errors.ts';
import { tableLines, textWidth } from '../framework/layout.ts';
import { bold, cellText, type Style } from '../framework/text.ts';
import { type Config, configDir, configFile, readProfiles } from '../session/profile.ts';
import { asRecord, listItems, type RenderedColumn, renderRecord, toColumn } from './record.ts';
import { isTime, relativeTime } from './times.ts';

export async function renderTable(ctx: Ctx, { value, view }: Result, style: Style): Promise<string> {
  const { columns: chosen, noHeaders } = ctx.globals;
  const wide = ctx.globals.wide ?? (await prefersWide(ctx));
  const rows = listItems(value);
  const now = wide || view?.exact ? null : ctx.io.now();
  if (rows === null) {
    const fields = chosen && chooseColumns(ctx, chosen, [value], view);
    return renderRecord(value, fields ?? view?.fields, style, now);
  }
  const shown = shownColumns(ctx, wide, rows, view);
  const cells = rows.map((row) => shown.map((column) => cell(column, row, now)));
  const titles = shown.map(({ name }) => name.replaceAll(/[_.]/g, ' ').toUpperCase());
  const natural = titles.map((title, at) =>
    cells.reduce((most, row) => Math.max(most, textWidth(row[at] ?? '')), textWidth(title)),
  );
  const limit = wide ? null : style.width;
  const isIds = idColumns(shown, cells);
  const main = mainColumn({ shown, cells, isIds }, view);
  const fitted =
    limit === null || chosen !== undefined
      ? shown.map((_, at) => at)
      : fit({ shown, natural, isIds, main }, limit);
  const lead = fitted.find((column) => !isIds[column]);
  const at = (row: readonly string[]) => fitted.map((index) => row[index] ?? '');
  const names = fitted.map((index) => shown[index]?.name ?? '');
  const lines = tableLines(
    {
      titles: at(titles),
      keep: fitted.map(
        (column, index) =>
          index === 0 ||
          column === lead ||
          (column === main?.at && (natural[column] ?? 0) <= main.charsMin) ||
          (isKeyColumn(names[index] ?? '') && (natural[column] ?? 0) <= keyColumnCharsMin),
      ),
      rows: cells.map(at),
    },
    { ...style, width: limit },
  );
  if (lines === null)
    return (
      await Promise.all(rows.map((row) => renderRecord(row, shown.map(toFieldColumn), style, now)))
    ).join('\n');
  const hidden = shown.filter((_, index) => !fitted.includes(index)).map(({ name }) => name);
  if (hidden.length > 0) ctx.note(`Not shown for lack of room: ${hidden.join(', ')}. Use -o wide.`);
  const [head = '', ...body] = lines;
  return `${[...(noHeaders ? [] : [bold(style, head)]), ...body].join('\n')}\n`;
}

/** All columns, with the exact values of the JSON output. */
export function renderCsv(ctx: Ctx, { value, view }: Result): string {
  const plan = asRecord(asRecord(value).plan);
  const list = listItems(value);
  const items = list ?? (Array.isArray(plan.changes) ? plan.changes : [value]);
  // One record has its own fields, which a list does not show: the secret of a new token, for example.
  const own = view?.fields ?? Object.keys(asRecord(value));
  const shown = list === null ? { ...view, columns: own, fields: view?.columns ?? [] } : view;
  const columns =
    plan.changes === undefined
      ? shownColumns(ctx, true, items, shown)
      : ['path', 'effect', 'before', 'after'].map(toColumn);
  const header = ctx.globals.noHeaders ? '' : csvRecord(columns.map(({ name }) => name.replaceAll(' ', '_')));
  return header + items.map((row) => csvRecord(columns.map((column) => csvValue(column.read(row))))).join('');
}

function csvValue(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

async function prefersWide({ io }: Ctx): Promise<boolean> {
  const config = await Promise.resolve(configDir(io.env))
    .then((dir) => readProfiles<Config>(dir, configFile))
    .catch(() => null);
  return config?.output === 'wide';
}

function shownColumns(
  ctx: Ctx,
  all: boolean,
  rows: readonly unknown[],
  view: View | undefined,
): RenderedColumn[] {
  const chosen = ctx.globals.columns && chooseColumns(ctx, ctx.globals.columns, rows, view);
  if (chosen !== undefined) return chosen.map(toColumn);
  const columns = view?.columns ?? Object.keys(asRecord(rows[0]));
  const hasId = columns.includes('id') || asRecord(rows[0]).id === undefined || view?.exact;
  return (all && !hasId ? ['id', ...columns] : columns).map(toColumn);
}

/**
 * A name is a column of the view, as its title reads, or any field of the records. Undefined for an unknown name after
 * an executed change: the change is made, and its result may be shown only once, so all of it is printed.
 */
function chooseColumns(
  ctx: Ctx,
  chosen: readonly string[],
  rows: readonly unknown[],
  view: View | undefined,
): Column[] | undefined {
  const known = [...(view?.columns ?? []), ...(view?.fields ?? [])];
  const fields = [...new Set(rows.flatMap((row) => Object.keys(asRecord(row))))];
  const columns: Column[] = [];
  for (const typed of chosen) {
    const found = known.find((column) => plainName(toColumn(column).name) === plainName(typed));
    const field = fields.find((name) => plainName(name) === plainName(typed.split('.')[0] ?? ''));
    if (found === undefined && field === undefined && rows.length > 0) {
      const names = [...new Set([...known.map((column) => toColumn(column).name), ...fields])];
      const text = `--columns: there is no ${JSON.stringify(typed)}.`;
      if (ctx.mutation.mode !== 'execute') throw usageError(text, `Choose from ${names.join(', ')}.`);
      ctx.note(`${text} The change was made; its whole result is printed.`);
      return undefined;
    }
    columns.push(found ?? (typed.includes('.') ? typed : (field ?? typed)));
  }
  return columns;
}

function plainName(name: string): string {
  return name.toLowerCase().replaceAll(/[ -]/g, '_');
}

function cell({ name, read }: RenderedColumn, row: unknown, now: Date | null): string {
  const value = read(row);
  return now !== null && isTime(name, value) ? relativeTime(value, now) : cellText(value);
}

function toFieldColumn({ name, read }: RenderedColumn): Column {
  return { title: name, value: read };
}

/** Columns by which people know what a row is; others are shortened and left out first. */
const keyColumnNames =
  /^(?:name|slug|alias|email|host|key|state|status|role|full_name|actions|subject|connector|preset|meaning|command|app|app_slug|title)$/;

function isKeyColumn(name: string): boolean {
  return keyColumnNames.test(name);
}

const gap = 2;
const cellCharsMin = 10;
const keyColumnCharsMin = 40;

function idColumns(shown: readonly RenderedColumn[], cells: readonly (readonly string[])[]): boolean[] {
  return shown.map((_, at) => {
    const values = cells.map((row) => row[at] ?? '').filter((text) => text !== '');
    return values.length > 0 && values.every((text) => uuidPattern.test(text));
  });
}

interface MainColumn {
  at: number;
  /** It is not cut to fewer. A URL is of no use if it is cut. */
  charsMin: number;
}

/** Of rows of an app's table, the first column that is no id. */
function mainColumn(
  { shown, cells, isIds }: Pick<Columns, 'shown' | 'isIds'> & { cells: readonly (readonly string[])[] },
  view: View | undefined,
): MainColumn | undefined {
  const isMain = (name: string, at: number) =>
    view?.exact ? !isIds[at] && name !== 'id' : name === view?.main;
  const at = shown.findIndex(({ name }, index) => isMain(name, index));
  if (at === -1) return undefined;
  const isUrl = cells.some((row) => /^https?:/.test(row[at] ?? ''));
  return { at, charsMin: isUrl ? Number.POSITIVE_INFINITY : keyColumnCharsMin };
}

interface Columns {
  shown: readonly RenderedColumn[];
  natural: readonly number[];
  isIds: readonly boolean[];
  main: MainColumn | undefined;
}

/**
 * Which columns fit: without ids first, where others say what a row is; then without the last of the others, as long as
 * shortening them to a few characters is not enough; then without any id.
 */
function fit({ shown, natural, isIds, main }: Columns, limit: number): number[] {
  const hasName =
    main !== undefined ||
    shown.some(
      ({ name }, at) =>
        !isIds[at] && /^(?:name|slug|alias|email|host|seq|key|app|app_slug|title)$/.test(name),
    );
  let visible = shown.map((_, at) => at);
  const width = (of: (at: number) => number) => visible.reduce((sum, at) => sum + of(at) + gap, -gap);
  const whole = (at: number) => natural[at] ?? 0;
  const ids = visible.filter((at) => isIds[at] && (at > 0 || hasName)).reverse();
  for (const id of ids) if (width(whole) > limit) visible = visible.filter((at) => at !== id);
  const lead = visible.find((at) => !isIds[at]);
  const isFixed = (at: number) =>
    at === visible[0] || at === lead || at === main?.at || isKeyColumn(shown[at]?.name ?? '');
  const charsMin = (at: number) =>
    at === main?.at ? main.charsMin : isFixed(at) ? keyColumnCharsMin : cellCharsMin;
  const short = (at: number) => Math.min(whole(at), charsMin(at));
  while (width(short) > limit) {
    const last =
      visible.findLast((at) => !isFixed(at)) ??
      visible.find((at) => isIds[at] && at !== lead) ??
      (main && visible.findLast((at) => at !== main.at && at !== visible[0]));
    if (last === undefined) break;
    visible = visible.filter((at) => at !== last);
  }
  return visible;
}
