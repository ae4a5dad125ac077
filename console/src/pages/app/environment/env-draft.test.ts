import { describe, expect, test } from 'bun:test';
import {
  changedRow,
  draftObstacle,
  noDraft,
  rowProblem,
  toggledRemoval,
  wishOf,
  withoutRow,
  withRow,
  withSet,
} from './env-draft.ts';

describe('changes of an environment before they are sent', () => {
  test('become one wish: what is pasted goes over what is typed, and to set one is not to remove it', () => {
    let draft = withRow(toggledRemoval(noDraft, 'OLD'), { name: 'A', value: '1' });
    draft = toggledRemoval(draft, 'B');
    draft = withSet(draft, { A: '2', B: 'b', C: '' });
    expect(wishOf(draft)).toEqual({ set: { A: '2', B: 'b', C: '' }, unset: ['OLD'] });
    expect(wishOf(toggledRemoval(toggledRemoval(draft, 'C'), 'OLD'))).toEqual({
      set: { A: '2', B: 'b' },
      unset: ['C'],
    });
  });

  test('are held back while a name can not stand, stands twice, or nothing is changed', () => {
    expect(draftObstacle(noDraft)).not.toBeNull();
    const problemOf = (name: string) => {
      const draft = withRow(noDraft, { name, value: '' });
      return [draftObstacle(draft) === null, rowProblem(draft, draft.rows[0]!) === null];
    };
    expect(problemOf('GOOD_1')).toEqual([true, true]);
    for (const name of ['', '1A', 'A-B', 'PORT', 'SVC_X']) expect(problemOf(name)).toEqual([false, false]);
    const twice = withRow(withRow(noDraft, { name: 'A', value: '' }), { name: 'A', value: '' });
    expect(draftObstacle(twice)).not.toBeNull();
    expect(draftObstacle(withoutRow(twice, twice.rows[1]!.key))).toBeNull();
    expect(draftObstacle(changedRow(twice, twice.rows[1]!.key, { name: 'B' }))).toBeNull();
  });
});
