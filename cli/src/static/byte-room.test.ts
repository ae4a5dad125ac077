import { describe, expect, test } from 'bun:test';
import { createByteRoom } from './byte-room.ts';

/** Begins a piece of work of some bytes; `end` ends it. */
function begin(room: ReturnType<typeof createByteRoom>, bytes: number) {
  const ended = Promise.withResolvers<void>();
  const work = { isBegun: false, end: ended.resolve, done: Promise.resolve() };
  work.done = room.hold(bytes, () => {
    work.isBegun = true;
    return ended.promise;
  });
  return work;
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('room for bytes', () => {
  test('is given in turn, and never more of it than there is', async () => {
    const room = createByteRoom(10);
    const works = [6, 4, 5, 1].map((bytes) => begin(room, bytes));
    const begun = async () => {
      await settled();
      return works.map(({ isBegun }) => isBegun);
    };
    expect(await begun()).toEqual([true, true, false, false]);
    works[1]?.end();
    expect(await begun()).toEqual([true, true, false, false]);
    works[0]?.end();
    expect(await begun()).toEqual([true, true, true, true]);
    for (const { end } of works) end();
    await Promise.all(works.map(({ done }) => done));
  });

  test('is given to what is larger than all of it, alone', async () => {
    const room = createByteRoom(10);
    const [small, large] = [begin(room, 1), begin(room, 50)];
    await settled();
    expect([small.isBegun, large.isBegun]).toEqual([true, false]);
    small.end();
    await settled();
    expect(large.isBegun).toBe(true);
  });

  test('comes back from work that fails', async () => {
    const room = createByteRoom(10);
    const failing = room.hold(10, () => Promise.reject(new Error('no')));
    expect(failing).rejects.toThrow('no');
    expect(await room.hold(10, async () => 'yes')).toBe('yes');
  });
});
