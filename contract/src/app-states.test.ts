import { describe, expect, test } from 'bun:test';
import {
  type AppMove,
  type AppState,
  appMoveNames,
  appRecords,
  appRuntimes,
  moveApp,
  movesFrom,
} from './app-states.ts';
import { isErrorCode } from './error-codes.ts';

const states = appRecords.flatMap((record) => appRuntimes.map((runtime): AppState => ({ record, runtime })));

function outcome(move: AppMove, state: AppState, before?: 'active' | 'archived'): string {
  const moved = moveApp(move, state, before);
  if (moved.kind === 'moves') return `${moved.to.record}/${moved.to.runtime}`;
  return moved.kind === 'refused' ? moved.code : moved.kind;
}

/** The complete table, one line per state in the order of `appRecords` and `appRuntimes`. */
const expected: Record<AppMove, readonly string[]> = {
  archive: [
    'archived/none',
    'archived/suspended',
    'archived/suspended',
    'same',
    'same',
    'same',
    'not_found',
    'not_found',
    'not_found',
  ],
  reactivate: [
    'same',
    'same',
    'same',
    'active/none',
    'active/suspended',
    'active/suspended',
    'not_found',
    'not_found',
    'not_found',
  ],
  suspend: [
    'nothing_deployed',
    'active/suspended',
    'same',
    'invalid_state_transition',
    'invalid_state_transition',
    'invalid_state_transition',
    'not_found',
    'not_found',
    'not_found',
  ],
  resume: [
    'no_successful_deployment',
    'same',
    'active/running',
    'invalid_state_transition',
    'invalid_state_transition',
    'invalid_state_transition',
    'not_found',
    'not_found',
    'not_found',
  ],
  delete: [
    'deleted/none',
    'deleted/suspended',
    'deleted/suspended',
    'deleted/none',
    'deleted/suspended',
    'deleted/suspended',
    'same',
    'same',
    'same',
  ],
  restore: [
    'same',
    'same',
    'same',
    'same',
    'same',
    'same',
    'archived/none',
    'archived/suspended',
    'archived/suspended',
  ],
  purge: [
    'not_deleted',
    'not_deleted',
    'not_deleted',
    'not_deleted',
    'not_deleted',
    'not_deleted',
    'purged',
    'purged',
    'purged',
  ],
};

describe('the states of an app', () => {
  test.each(appMoveNames.map((move) => [move]))(
    '%s leads to the state in the table, from every state',
    (move) => {
      expect(states.map((state) => outcome(move, state, 'archived'))).toEqual([...expected[move]]);
    },
  );

  test('restoring returns to the record state before the deletion', () => {
    expect(outcome('restore', { record: 'deleted', runtime: 'suspended' }, 'active')).toBe(
      'active/suspended',
    );
    expect(outcome('restore', { record: 'deleted', runtime: 'none' }, 'archived')).toBe('archived/none');
  });

  test('a refusal has a known error code', () => {
    for (const move of appMoveNames) {
      for (const state of states) {
        const moved = moveApp(move, state);
        if (moved.kind === 'refused')
          expect([moved.code, isErrorCode(moved.code)]).toEqual([moved.code, true]);
      }
    }
  });

  test('only resume makes an app run, and only an active app runs', () => {
    for (const move of appMoveNames) {
      for (const state of states) {
        const moved = moveApp(move, state);
        if (moved.kind !== 'moves' || moved.to.runtime !== 'running') continue;
        expect([move, moved.to.record]).toEqual(['resume', 'active']);
      }
    }
  });

  test('a repeated move changes nothing or is not found', () => {
    for (const move of appMoveNames) {
      for (const state of states) {
        const moved = moveApp(move, state);
        if (moved.kind === 'moves') expect([move, moveApp(move, moved.to).kind]).toEqual([move, 'same']);
      }
    }
  });

  test('only moves that change something are offered', () => {
    expect(movesFrom({ record: 'active', runtime: 'none' })).toEqual(['archive', 'delete']);
    expect(movesFrom({ record: 'active', runtime: 'running' })).toEqual(['archive', 'suspend', 'delete']);
    expect(movesFrom({ record: 'active', runtime: 'suspended' })).toEqual(['archive', 'resume', 'delete']);
    expect(movesFrom({ record: 'archived', runtime: 'suspended' })).toEqual(['reactivate', 'delete']);
    expect(movesFrom({ record: 'deleted', runtime: 'suspended' })).toEqual(['restore', 'purge']);
  });
});
