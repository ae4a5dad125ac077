import type { previewAccess } from '@svc/contract/access-preview.shapes.ts';
import type { z } from 'zod';
import { cellText, sanitize } from '../framework/text.ts';

type Preview = z.output<typeof previewAccess.answer>;

export function previewText(preview: Preview): string {
  const { text, columns, sample, sample_withheld, because } = preview;
  const parts = [`${sanitize(text)}\n`];
  if (columns.length > 0) parts.push(alignColumns(columns.map(({ name, type, text }) => [name, type, text])));
  if (because.length > 0)
    parts.push(`Because of:\n${because.map((source) => `  ${sourceText(source)}\n`).join('')}`);
  const names = Object.keys(sample[0] ?? {});
  if (names.length > 0)
    parts.push(alignColumns([names, ...sample.map((row) => names.map((name) => cell(row[name])))]));
  if (sample_withheld !== null) parts.push(`${sanitize(sample_withheld)}\n`);
  return parts.join('\n');
}

const sourceText = ({ kind, name }: Preview['because'][number]) =>
  kind === 'policy' ? `the policy “${sanitize(name)}”` : sanitize(name);

const cell = (value: unknown) => (value === null || value === undefined ? 'null' : cellText(value));

function alignColumns(rows: readonly (readonly string[])[]): string {
  const clean = rows.map((row) => row.map(sanitize));
  const widths = clean[0]?.map((_, at) => Math.max(...clean.map((row) => row[at]?.length ?? 0))) ?? [];
  return clean
    .map(
      (row) =>
        `  ${row
          .map((text, at) => text.padEnd(widths[at] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}
