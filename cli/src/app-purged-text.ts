import type { purgeApp } from '@svc/contract/app-life.shapes.ts';
import type { z } from 'zod';
import { plain } from './output.ts';

/** What was removed; what there was none of is left out. */
export function appPurgedText({ slug, removed }: z.output<(typeof purgeApp)['answer']>): string {
  const lines = Object.entries(removed).filter(([, count]) => count > 0);
  const width = Math.max(0, ...lines.map(([name]) => name.length));
  const named = lines.map(([name, count]) => `  ${name.replaceAll('_', ' ').padEnd(width)}  ${count}\n`);
  return [
    `${plain(slug)} is purged.\n`,
    ...(named.length === 0 ? [] : ['Removed with it:\n']),
    ...named,
  ].join('');
}
