import type { moved } from '@svc/contract/app-life.shapes.ts';
import { movesFrom } from '@svc/contract/app-states.ts';
import type { z } from 'zod';
import type { Ctx } from '../context.ts';
import { sanitize } from '../framework/text.ts';

export type LifecycleApp = z.output<(typeof moved)['answer']>;

export const lifecycleResult = {
  text: lifecycleText,
  present: (ctx: Ctx, app: LifecycleApp): LifecycleApp => {
    const moves = movesFrom(app).map((move) => `svc apps ${move} ${sanitize(app.slug)}`);
    if (ctx.globals.format === 'table') ctx.note(`Next: ${moves.join(', ')}`);
    return app;
  },
};

function lifecycleText(app: LifecycleApp): string {
  const is = app.changed === false ? 'was already' : 'is';
  const purge = app.purge_after === null ? '' : `It will be purged after ${app.purge_after}.\n`;
  return `${sanitize(app.slug)} ${is} ${stateText(app)}.\n${purge}`;
}

function stateText({ record, runtime }: Pick<LifecycleApp, 'record' | 'runtime'>): string {
  if (record !== 'active') return record;
  return { none: 'active', running: 'running', suspended: 'active and suspended' }[runtime];
}
