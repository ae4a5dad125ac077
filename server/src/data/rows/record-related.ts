import type { RowsCtx } from './context.ts';
import type { RelatedPlan } from './plan-related.ts';
import type { EmbedPlan } from './related-sql.ts';
import { createOutput } from './row-table.ts';

type Shown = Record<string, unknown>;

/** Each table that rows were read of, with its own access. The rows are looked at only where somebody asks for their number. */
export function recordRelated(
  ctx: RowsCtx,
  { table, items, embeds }: RelatedPlan,
  count: number,
  rows: () => Shown[],
): void {
  const own = items.filter(({ embed }) => !embed);
  ctx.recordRead({ action: 'read', table, output: createOutput(own), rows: count });
  if (!embeds.some(hasGoverned)) return;
  const shown = rows();
  for (const embed of embeds) recordEmbed(embed, shown);
}

const hasGoverned = ({ other, embeds }: EmbedPlan): boolean => other.isGoverned || embeds.some(hasGoverned);

function recordEmbed({ key, other, table, items, embeds }: EmbedPlan, rows: readonly Shown[]): void {
  const related = rows.flatMap((row): Shown[] => [(row[key] ?? []) as Shown | Shown[]].flat());
  const output = createOutput(items.filter(({ embed }) => !embed));
  if (items.length > 0) other.recordRead({ action: 'read', table, output, rows: related.length });
  for (const embed of embeds) recordEmbed(embed, related);
}
