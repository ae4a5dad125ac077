import { type AppMove, moveApp as judge } from '@svc/contract/app-states.ts';
import type { AppMutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { appTag } from '../tables/catalogue.ts';
import { type HeldApp, holdApp } from './hold-app.ts';
import { findRecordBefore, type LifeRow, saveLife } from './life-store.ts';
import { type AppRecord, appRecord } from './rules.ts';

export type MovedApp = AppRecord & { changed?: false };

/** What a move does beside record and runtime, once it is clear that it moves the app. */
export interface Moving {
  move: Exclude<AppMove, 'purge'>;
  /**
   * Checks what the table of states can not know, and does what goes with the move. Answers what else is written; a
   * `runtime` in it goes before the table's, for what comes about later.
   */
  also?: (app: HeldApp) => Promise<Partial<LifeRow>>;
  /** A repeat: whether something of the first is undone by now, and is done once more. Answers what the audit tells of it. */
  again?: (
    app: HeldApp,
  ) => Promise<{ before: Record<string, unknown>; after: Record<string, unknown> } | null>;
  /** What a plan and the audit tell beside record and runtime. */
  told?: (app: HeldApp) => { before?: Record<string, unknown>; after?: Record<string, unknown> };
}

/** Under the app's lock: by who may, from where the contract's table allows it, and to where it says. */
export async function moveApp(ctx: AppMutationCtx, { move, also, again, told }: Moving): Promise<MovedApp> {
  const endsIt = move === 'delete' || move === 'restore';
  const app = await holdApp(
    ctx,
    endsIt ? { wanted: 'representative_or_admin', records: 'any' } : { wanted: 'owners_or_admin' },
  );
  const { record, runtime } = app;
  const wasBefore = record === 'deleted' ? await findRecordBefore(ctx.db, ctx.tenant.id, app.id) : undefined;
  const moved = judge(move, app, wasBefore);
  const audited = {
    action: `apps.${move}`,
    appId: app.id,
    target: { kind: 'app', id: app.id, name: app.slug },
  };
  if (moved.kind === 'refused') throw fail(moved.code, { detail: `The app is ${stateText(app)}.` });
  if (moved.kind !== 'moves') {
    const done = (await again?.(app)) ?? null;
    ctx.audit({ ...audited, ...(done ?? { before: {}, after: {} }) });
    return done ? appRecord(app) : { ...appRecord(app), changed: false };
  }
  const more = (await also?.(app)) ?? {};
  const to = { ...moved.to, runtime: more.runtime ?? moved.to.runtime };
  const row = await saveLife(ctx.db, ctx.tenant.id, app.id, { ...more, ...to, updated_at: ctx.now });
  const { before = {}, after = {} } = told?.(app) ?? {};
  ctx.audit({ ...audited, before: { record, runtime, ...before }, after: { ...to, ...after } });
  ctx.changed(appTag(app.id));
  return appRecord(row);
}

function stateText({ record, runtime }: Pick<HeldApp, 'record' | 'runtime'>): string {
  if (record !== 'active') return record;
  return { none: 'active, and nothing of it is deployed', running: 'running', suspended: 'suspended' }[
    runtime
  ];
}
