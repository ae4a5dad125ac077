import type { RowsCtx } from './context.ts';
import type { RelatedPlan } from './plan-related.ts';
import type { EmbedPlan } from './related-sql.ts';

type Shown = Record<string, unknown>;

/** Each table that rows were read of, with its own access. The rows are looked at only where somebody asks for their number. */
export function recordRelated(
  ctx: RowsCtx,
  { table, own, embeds, opened }: RelatedPlan,
  count: number,
  rows: () => Shown[],
): void {
  ctx.recordRead({ action: 'read', table, output: own, rows: count });
  const otherOf = (embed: EmbedPlan) => opened.get(embed.table.catalogue.id);
  const hasGoverned = (embed: EmbedPlan): boolean =>
    otherOf(embed)?.isGoverned || embed.embeds.some(hasGoverned);
  const record = (embed: EmbedPlan, holders: readonly Shown[]): void => {
    const related = holders.flatMap((row): Shown[] => [(row[embed.key] ?? []) as Shown | Shown[]].flat());
    if (embed.items.length > 0)
      otherOf(embed)?.recordRead({
        action: 'read',
        table: embed.table,
        output: embed.own,
        rows: related.length,
      });
    for (const inner of embed.embeds) record(inner, related);
  };
  if (!embeds.some(hasGoverned)) return;
  const shown = rows();
  for (const embed of embeds) record(embed, shown);
}
