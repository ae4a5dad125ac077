import { describe, expect, test } from 'bun:test';
import { fixedKey } from '../../core/keys.ts';
import { createFeedPositions, isLater } from './feed-changes.ts';

const positions = createFeedPositions(fixedKey('key'));
const hours = 3600;
const at = { from: '10:20:12,15', to: null, seq: null, takenAt: 1_000_000 };

describe('the position of a feed', () => {
  test('is read as it was written, also in the middle of a page', () => {
    for (const position of [at, { ...at, to: '10:30:', seq: '7' }])
      expect(positions.read(positions.write(position, 'bound'), 'bound', at.takenAt + 5)).toEqual(position);
  });

  test('is accepted for 24 hours', () => {
    const id = positions.write(at, 'bound');
    expect(positions.read(id, 'bound', at.takenAt + 24 * hours)).toEqual(at);
    expect(positions.read(id, 'bound', at.takenAt + 24 * hours + 1)).toBeNull();
  });

  test('means nothing for another view or query, under another key, or if it was made up', () => {
    const id = positions.write(at, 'bound');
    expect(positions.read(id, 'other', at.takenAt)).toBeNull();
    expect(createFeedPositions(fixedKey('another')).read(id, 'bound', at.takenAt)).toBeNull();
    for (const made of ['', 'x', `${id}AAAA`, id.slice(2)])
      expect(positions.read(made, 'bound', at.takenAt)).toBeNull();
  });

  test('is accepted under a former key, and written under the current one', () => {
    let current = 'old';
    const rotated = createFeedPositions({ current: () => current, accepted: () => [current, 'old'] });
    const id = rotated.write(at, 'bound');
    current = 'new';
    expect(rotated.read(id, 'bound', at.takenAt)).toEqual(at);
    const next = rotated.write(at, 'bound');
    expect(createFeedPositions(fixedKey('new')).read(next, 'bound', at.takenAt)).toEqual(at);
  });

  test('tells nothing about how much happens', () => {
    expect(positions.write(at, 'bound')).not.toBe(positions.write(at, 'bound'));
  });
});

test('a snapshot is later if it ends later, or if less is still running', () => {
  const cases = [
    ['10:21:', '10:20:', true],
    ['10:20:12', '10:20:12,15', true],
    ['10:20:12,15', '10:20:12', false],
    ['10:20:', '10:20:', false],
    ['9:100:', '10:20:', true],
  ] as const;
  for (const [one, other, expected] of cases)
    expect([one, other, isLater(one, other)]).toEqual([one, other, expected]);
});
