import type { moved } from '@svc/contract/app-life.shapes.ts';
import { movesFrom } from '@svc/contract/app-states.ts';
import type { z } from 'zod';
import { plain } from './output.ts';

export type MovedApp = z.output<(typeof moved)['answer']>;

/** What an app is now, and what can be done with it next, by the contract's table of states. */
export function appMovedText(app: MovedApp): string {
  const slug = plain(app.slug);
  const is = app.changed === false ? 'was already' : 'is';
  return [
    `${slug} ${is} ${stateText(app)}.\n`,
    ...(app.purge_after === null ? [] : [`It is purged after ${app.purge_after}.\n`]),
    'Next:\n',
    ...movesFrom(app).map((move) => `  svc apps ${move} ${slug}\n`),
  ].join('');
}

function stateText({ record, runtime }: Pick<MovedApp, 'record' | 'runtime'>): string {
  if (record !== 'active') return record;
  return { none: 'active', running: 'running', suspended: 'active, and suspended' }[runtime];
}
