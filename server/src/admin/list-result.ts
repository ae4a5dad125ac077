import { tableLines } from '@svc/cli/framework/layout.ts';
import { cellText } from '@svc/cli/framework/text.ts';
import type { Result } from './command.ts';

export function listResult(columns: readonly string[], items: readonly object[]): Result {
  const grid = {
    titles: columns.map((column) => column.replaceAll('_', ' ').toUpperCase()),
    keep: columns.map(() => true),
    rows: items.map((item) => columns.map((column) => cellText(Reflect.get(item, column)))),
  };
  const lines = tableLines(grid, { width: null, colour: false, unicode: true }) ?? [];
  return { json: { items, total: items.length }, text: `${lines.join('\n')}\n` };
}
