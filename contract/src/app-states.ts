import type { ErrorCode } from './error-codes.ts';

/**
 * `record` is the lifecycle state, `runtime` whether the app runs. Server, command line and console share
 * this table.
 */
export const appRecords = ['active', 'archived', 'deleted'] as const;
export const appRuntimes = ['none', 'running', 'suspended'] as const;
export type AppRecordState = (typeof appRecords)[number];
export type AppRuntime = (typeof appRuntimes)[number];

export const appMoveNames = [
  'archive',
  'reactivate',
  'suspend',
  'resume',
  'delete',
  'restore',
  'purge',
] as const;
export type AppMove = (typeof appMoveNames)[number];

export interface AppState {
  record: AppRecordState;
  runtime: AppRuntime;
}

/**
 * `same`: a repeat, which changes nothing. `before`: the record state before the deletion. A code refuses the
 * move.
 */
type Cell = `${AppRecordState | 'before'}/${AppRuntime}` | 'purged' | 'same' | ErrorCode;
type Row = Readonly<Record<AppRuntime, Cell>>;

const each = (cell: Cell): Row => ({ none: cell, running: cell, suspended: cell });
/** Only `resume` and a deployment make an app run: a stopped app stays stopped. */
const stoppedRow = (record: AppRecordState | 'before'): Row => ({
  none: `${record}/none`,
  running: `${record}/suspended`,
  suspended: `${record}/suspended`,
});
const same = each('same');
const gone = each('not_found');
const wrongState = each('invalid_state_transition');

export const appMoves: Readonly<Record<AppMove, Readonly<Record<AppRecordState, Row>>>> = {
  archive: { active: stoppedRow('archived'), archived: same, deleted: gone },
  reactivate: { active: same, archived: stoppedRow('active'), deleted: gone },
  suspend: {
    active: { none: 'nothing_deployed', running: 'active/suspended', suspended: 'same' },
    archived: wrongState,
    deleted: gone,
  },
  resume: {
    active: { none: 'no_successful_deployment', running: 'same', suspended: 'active/running' },
    archived: wrongState,
    deleted: gone,
  },
  delete: { active: stoppedRow('deleted'), archived: stoppedRow('deleted'), deleted: same },
  restore: { active: same, archived: same, deleted: stoppedRow('before') },
  purge: { active: each('not_deleted'), archived: each('not_deleted'), deleted: each('purged') },
};

export type AppMoved =
  | { kind: 'moves'; to: AppState }
  | { kind: 'purged' }
  | { kind: 'same' }
  | { kind: 'refused'; code: ErrorCode };

export function moveApp(
  move: AppMove,
  { record, runtime }: AppState,
  before: Exclude<AppRecordState, 'deleted'> = 'active',
): AppMoved {
  const cell = appMoves[move][record][runtime];
  if (cell === 'purged' || cell === 'same') return { kind: cell };
  const [to, then] = cell.split('/');
  const toRecord = to === 'before' ? before : appRecords.find((it) => it === to);
  const toRuntime = appRuntimes.find((it) => it === then);
  if (toRecord && toRuntime) return { kind: 'moves', to: { record: toRecord, runtime: toRuntime } };
  return { kind: 'refused', code: cell as ErrorCode };
}

export function movesFrom(state: AppState): AppMove[] {
  return appMoveNames.filter((move) => ['moves', 'purged'].includes(moveApp(move, state).kind));
}
