import { expect, test } from 'bun:test';
import { appMoveNames, appRecords, appRuntimes, moveApp } from '@svc/contract/app-states.ts';
import { oneOf, whyNotMove } from './why-not-move.ts';

test('every move that a state refuses has a reason of its own, and every other has none', () => {
  for (const move of appMoveNames) {
    for (const record of appRecords) {
      for (const runtime of appRuntimes) {
        const why = whyNotMove(move, { record, runtime });
        const changes = ['moves', 'purged'].includes(moveApp(move, { record, runtime }).kind);
        expect([move, record, runtime, why === null]).toEqual([move, record, runtime, changes]);
        expect(why).not.toBe('It can not be done in this state.');
      }
    }
  }
});

test('of two that undo each other the one is offered that changes something', () => {
  const running = { record: 'active', runtime: 'running' } as const;
  expect(oneOf(['suspend', 'resume'], running)).toBe('suspend');
  expect(oneOf(['suspend', 'resume'], { ...running, runtime: 'suspended' })).toBe('resume');
  expect(oneOf(['archive', 'reactivate'], { ...running, record: 'archived' })).toBe('reactivate');
  expect(oneOf(['delete', 'restore'], { ...running, record: 'deleted' })).toBe('restore');
});
