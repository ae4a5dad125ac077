import type { moved } from '@svc/contract/app-life.shapes.ts';
import { movesFrom } from '@svc/contract/app-states.ts';
import type { z } from 'zod';
import type { Ctx } from './context.ts';
import { plain } from './output.ts';

export type MovedApp = z.output<(typeof moved)['answer']>;

/** How the commands of an app's life answer: what the app is now; what can be done next is talk, beside the result. */
export const appMoved = {
  text: appMovedText,
  present: (ctx: Ctx, app: MovedApp): MovedApp => {
    const moves = movesFrom(app).map((move) => `svc apps ${move} ${plain(app.slug)}`);
    if (ctx.globals.format === 'table') ctx.note(`Next: ${moves.join(', ')}`);
    return app;
  },
};

function appMovedText(app: MovedApp): string {
  const is = app.changed === false ? 'was already' : 'is';
  const purge = app.purge_after === null ? '' : `It is purged after ${app.purge_after}.\n`;
  return `${plain(app.slug)} ${is} ${stateText(app)}.\n${purge}`;
}

function stateText({ record, runtime }: Pick<MovedApp, 'record' | 'runtime'>): string {
  if (record !== 'active') return record;
  return { none: 'active', running: 'running', suspended: 'active, and suspended' }[runtime];
}
