import { fail } from '../plumbing/problem.ts';
import { jsonAnswer, type RowsCtx } from './context.ts';
import { theRow } from './get-row.ts';
import { JsonRows, valuesFrom } from './json-rows.ts';
import { parseQuery } from './parse-query.ts';
import { type AfterKey, planList } from './plan.ts';
import { outputOf } from './row-table.ts';
import { listSql, oneSql } from './sql.ts';

const comma = 0x2c;
/** Of long rows fewer must be asked for at a time. */
const pageBytesMax = 32 * 1024 * 1024;
const tooLarge = fail('payload_too_large', {
  detail: `A page is at most ${pageBytesMax} bytes; ask for fewer rows with per_page.`,
});

export async function listRows(ctx: RowsCtx) {
  const query = parseQuery(ctx.search, 'list');
  const plan = planList(ctx.table, ctx.access.ownRowsOf, query, (token, sort) =>
    ctx.cursors.read(ctx.table, token, sort),
  );
  const { text, values } = listSql(plan);
  const page = new JsonRows(8 * 1024);
  page.text('{"data":[');
  let rows = 0;
  let lastKeys: (string | null)[] = [];
  await ctx.rowDb.run('read', text, values, (bytes, start) => {
    rows++;
    if (rows > plan.perPage) return;
    if (page.end > pageBytesMax) throw tooLarge;
    if (rows > 1) page.byte(comma);
    const end = page.row(plan.output.shape, bytes, start);
    if (rows === plan.perPage) lastKeys = valuesFrom(bytes, end, plan.sort.length);
  });
  if (rows === 0 && plan.after) await refuseGone(ctx, plan.after);
  const more = rows > plan.perPage;
  const cursor = more ? `"${ctx.cursors.write(plan, lastKeys)}"` : 'null';
  page.text(`],"page":${plan.page},"per_page":${plan.perPage},"has_more":${more},"next_cursor":${cursor}}`);
  return jsonAnswer(200, page.taken());
}

/** Where the keys are looked up in a row that is gone, an empty page would look like the end of the list. */
async function refuseGone(ctx: RowsCtx, after: readonly AfterKey[]): Promise<void> {
  for (const key of after) {
    if (typeof key !== 'object' || key === null) continue;
    const { text, values } = oneSql(ctx.table, outputOf([]), theRow({ ...ctx, access: allRows }, key.ofRow));
    const { rows } = await ctx.rowDb.run('point', text, values);
    if (rows.length === 0) throw fail('invalid_cursor', { detail: 'The row that it points to is gone.' });
    return;
  }
}

const allRows = { read: true, write: false, ownRowsOf: null };
