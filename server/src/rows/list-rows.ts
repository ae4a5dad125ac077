import { jsonAnswer, type RowsCtx } from './context.ts';
import { JsonRows, valuesFrom } from './json-rows.ts';
import { parseQuery } from './parse-query.ts';
import { planList } from './plan.ts';
import { listSql } from './sql.ts';

const comma = 0x2c;

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
    if (rows > 1) page.byte(comma);
    const end = page.row(plan.output.shape, bytes, start);
    if (rows === plan.perPage) lastKeys = valuesFrom(bytes, end, plan.sort.length);
  });
  const more = rows > plan.perPage;
  const cursor = more ? `"${ctx.cursors.write(plan, lastKeys)}"` : 'null';
  page.text(`],"page":${plan.page},"per_page":${plan.perPage},"has_more":${more},"next_cursor":${cursor}}`);
  return jsonAnswer(200, page.taken());
}
