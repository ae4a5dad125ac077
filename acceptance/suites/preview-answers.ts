import { expect } from 'bun:test';
import type { Answered, Call } from '../support/people.ts';
import type { Random } from '../support/random.ts';

export interface Row {
  id: number;
  region: string | null;
  name: string;
  email: string;
  n: number | null;
}

type Preview = Answered['body'];
type Shown = Partial<Record<string, unknown>>;
type Change = 'insert' | 'update' | 'delete' | 'export';

/** What a table gives one person. */
export interface Real {
  said: string;
  /** At the table, as the person. */
  send: Call;
  stored: ReadonlyMap<number, Row>;
  random: Random;
}

/** How often the comparison had something to find. */
export const newCounts = () => ({ clear: 0, masked: 0, allowed: 0, refused: 0, certain: 0 });
type Counts = ReturnType<typeof newCounts>;

const dataColumns = ['region', 'name', 'email', 'n'] as const;

/** The preview says what the rows show: which, how many, with which columns and values, and what may be done with them. */
export async function comparePreview(preview: Preview, real: Real, counts: Counts): Promise<boolean> {
  const answer = await real.send('GET', '?per_page=100');
  const isShown = compareRows(real.said, preview, answer);
  const rows: Shown[] = isShown ? answer.body.data : [];
  if (rows.length > 0) compareColumns(preview, rows, real, counts);
  await compareActions(preview, rows, real, counts);
  return isShown;
}

function compareRows(said: string, preview: Preview, real: Answered): boolean {
  const isReader = preview.actions.includes('read');
  if (real.status !== 200) {
    expect([said, isReader]).toEqual([said, false]);
    expect([said, typeof preview.reason]).toEqual([said, 'string']);
    if (real.body.code === 'policy_unresolvable') expect(preview.reason).toContain('does not fit');
    return false;
  }
  const { data } = real.body;
  expect([said, isReader, preview.rows.visible]).toEqual([said, true, data.length]);
  expect([said, preview.sample_withheld]).toEqual([said, null]);
  // Rows whose id is hidden have no order among each other.
  const hasOrder = data.every(({ id }: Shown) => id !== null && id !== undefined);
  if (hasOrder) expect([said, preview.sample]).toEqual([said, data.slice(0, 5)]);
  else expect([said, preview.sample.length]).toEqual([said, Math.min(5, data.length)]);
  const texts = data.map((row: object) => JSON.stringify(row));
  for (const row of preview.sample) expect(texts).toContain(JSON.stringify(row));
  return true;
}

/** A mask that always applies shows no value as it is stored, of those that a mask changes. */
function compareColumns(preview: Preview, rows: readonly Shown[], { said, stored }: Real, counts: Counts) {
  const seen = preview.columns.filter(({ access }: { access: string }) => access !== 'hidden');
  expect([said, seen.map(({ name }: { name: string }) => name)]).toEqual([said, Object.keys(rows[0]!)]);
  for (const name of dataColumns) {
    const column = seen.find((each: { name: string }) => each.name === name);
    if (!column) continue;
    const pairs = rows.flatMap((row): [unknown, unknown][] => {
      const kept = stored.get(Number(row.id));
      return kept ? [[row[name], kept[name]]] : [];
    });
    if (pairs.length > 0) counts[column.access as 'clear' | 'masked']++;
    const as = [said, name, column.text];
    if (column.access === 'clear')
      expect([...as, pairs.map(([shown]) => shown)]).toEqual([...as, pairs.map(([, kept]) => kept)]);
    else if (!column.text.includes('clear'))
      for (const [shown, kept] of pairs)
        if (changes(column.mask, kept)) expect([...as, shown]).not.toEqual([...as, kept]);
  }
}

function changes(mask: string, value: unknown): boolean {
  if (value === null || value === '') return false;
  return mask !== 'round' || Number(value) % 10 !== 0;
}

/** `They can also insert any row; update and delete these rows.` */
function changeWords({ text }: Preview): Map<string, string> {
  const clauses = /They can also (.*)\.$/s.exec(text)?.[1]?.split('; ') ?? [];
  return new Map(
    clauses.flatMap((clause: string) => {
      const [, names = '', rows = ''] =
        /^([a-z, ]+?) (any row|all rows|these rows|rows where .*)$/.exec(clause) ?? [];
      return names.split(/, | and /).map((name): [string, string] => [name, rows]);
    }),
  );
}

/** An action that is left out does nothing to any row, and one for all rows, or for those that are seen, is accepted. */
async function compareActions(preview: Preview, rows: readonly Shown[], real: Real, counts: Counts) {
  const { random, send, stored } = real;
  const words = changeWords(preview);
  const visible = rows.filter(({ id }) => typeof id === 'number');
  const target: Shown = visible.length > 0 ? random.pick(visible) : { ...random.pick([...stored.values()]) };
  const isClear = (column: string) =>
    preview.columns.some(({ name, access }: Shown) => name === column && access === 'clear');
  const clear = dataColumns.filter(isClear);
  const changed = clear.length > 0 ? random.pick(clear) : 'name';
  const one = `/${target.id}?dry_run=true`;
  const mayTarget = (action: Change) =>
    visible.length > 0 && isClear('id') && ['all rows', 'these rows'].includes(words.get(action) ?? '');
  const { by: _, created_at: __, updated_at: ___, ...values } = target;
  // Two grants that each hide a column show all of them, and neither inserts a row with both.
  const isOneGrant = preview.because.filter(({ kind }: Shown) => kind === 'grant').length < 2;
  const isWhole = isOneGrant && isClear('id') && clear.length === dataColumns.length;
  const calls: Record<Change, [answer: Answered, isSure: boolean]> = {
    delete: [await send('DELETE', one), mayTarget('delete')],
    update: [
      await send('PATCH', one, { [changed]: stored.get(Number(target.id))![changed] }),
      mayTarget('update') && clear.length > 0,
    ],
    insert: [
      await send('POST', '?dry_run=true', { ...values, id: 5_000 }),
      visible.length > 0 && isWhole && words.get('insert') === 'any row',
    ],
    export: [
      await send('GET', '', undefined, { accept: 'application/x-ndjson' }),
      preview.actions.includes('export') && preview.actions.includes('read'),
    ],
  };
  for (const [action, [{ status, text }, isSure]] of Object.entries(calls)) {
    const said = [real.said, preview.text, action, one, changed, status, text.slice(0, 300)];
    const isDone = status < 300 && text !== '';
    if (isDone) expect([...said, preview.actions.includes(action)]).toEqual([...said, true]);
    else if (isSure && !(await isEmptyOrNameless(action as Change, status)))
      expect([...said, 'refused']).toEqual([...said, 'done']);
    counts[isDone ? 'allowed' : 'refused']++;
    if (isSure) counts.certain++;
  }
  /** Where another grant hides the ids of these rows, none can be named. */
  async function isEmptyOrNameless(action: Change, status: number): Promise<boolean> {
    if (action === 'export') return status === 200;
    if (status !== 404 || words.get(action) === 'all rows') return false;
    return (await send('GET', `/${target.id}`)).status === 404;
  }
  const exported = calls.export[0].text.split('\n').length - 1;
  const shown = { 'these rows': rows.length, 'all rows': preview.rows.all }[words.get('export') ?? ''];
  if (shown !== undefined)
    expect([real.said, preview.text, exported]).toEqual([real.said, preview.text, shown]);
}
