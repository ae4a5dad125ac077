import { type AppMove, type AppState, moveApp } from '@svc/contract/app-states.ts';
import type { ErrorCode } from '@svc/contract/error-codes.ts';

const refusals: Partial<Record<ErrorCode, string>> = {
  nothing_deployed: 'Nothing of it runs; deploy it first.',
  no_successful_deployment: 'No deployment of it has ended well; deploy it first.',
  invalid_state_transition: 'It is archived; reactivate it first.',
  not_found: 'It is deleted; restore it first.',
  not_deleted: 'Only a deleted app can be purged; delete it first.',
};

const repeats: Readonly<Record<AppMove, string>> = {
  archive: 'It is archived already.',
  reactivate: 'It is active already.',
  suspend: 'It is suspended already.',
  resume: 'It runs already.',
  delete: 'It is deleted already.',
  restore: 'It is not deleted.',
  purge: 'It is purged already.',
};

/** Why a move leads nowhere from a state, by the contract's table, with what to do first; null when it changes something. */
export function whyNotMove(move: AppMove, state: AppState): string | null {
  const moved = moveApp(move, state);
  if (moved.kind === 'same') return repeats[move];
  if (moved.kind === 'refused') return refusals[moved.code] ?? 'It can not be done in this state.';
  return null;
}

/** Of two moves that undo each other: the one that is of use now. */
export function oneOf([first, second]: readonly [AppMove, AppMove], state: AppState): AppMove {
  return moveApp(second, state).kind === 'moves' ? second : first;
}
