import { beforeAll, describe, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { Failure } from '../../plumbing/problem.ts';
import type { ObjectStore } from './object-store.ts';
import { bodyOf, letters } from './testing.ts';

const mebibyte = 1024 * 1024;
const bytesMax = 64 * mebibyte;

export interface Conformance {
  /** Empty. */
  open(): Promise<ObjectStore>;
  /** Enough for several pages, or folders. */
  listedKeys: number;
  /** More than the driver sends at once. */
  largeBytes: number;
  /** What is left of uploads that did not come to their end. */
  leftovers(): Promise<number>;
}

/** What every object store keeps, whatever it is made of. */
export function describeObjectStore({ open, listedKeys, largeBytes, leftovers }: Conformance): void {
  let store: ObjectStore;
  beforeAll(async () => {
    store = await open();
  });
  const put = (key: string, ...chunks: string[]) => store.put(key, bodyOf(...chunks), { bytesMax });
  const read = async (key: string, range?: { start: number; end: number }) => {
    const found = await store.get(key, range);
    return found && (await new Response(found.body).text());
  };
  const keysOf = async (prefix: string, after?: string) => {
    const keys: string[] = [];
    for await (const { key } of store.list(prefix, after)) keys.push(key);
    return keys;
  };

  describe('an object', () => {
    test('is read as it was put, with its size and its sum', async () => {
      const sha256 = createHash('sha256').update('hello, world').digest('hex');
      expect(await put('round/trip', 'hello', ', ', '', 'world')).toEqual({ size: 12, sha256 });
      expect(await read('round/trip')).toBe('hello, world');
      expect(await store.stat('round/trip')).toEqual({ size: 12 });
    });

    test('may be empty', async () => {
      const { size, sha256 } = await put('round/empty');
      expect([size, sha256]).toEqual([0, createHash('sha256').digest('hex')]);
      expect([await read('round/empty'), await store.stat('round/empty')]).toEqual(['', { size: 0 }]);
    });

    test('that is large comes in pieces and goes out in pieces', async () => {
      const bytes = 20 * mebibyte + 17;
      const sum = createHash('sha256');
      async function* pieces() {
        for (let at = 0, seed = 1; at < bytes; at += 100_000, seed += 1) {
          const piece = new Uint8Array(Math.min(100_000, bytes - at)).map((_, byte) => (byte * seed) % 251);
          sum.update(piece);
          yield piece;
        }
      }
      const facts = await store.put('round/large', pieces(), { bytesMax });
      expect(facts).toEqual({ size: bytes, sha256: sum.digest('hex') });
      const found = await store.get('round/large');
      const back = createHash('sha256');
      let largest = 0;
      for await (const chunk of found?.body ?? []) {
        back.update(chunk);
        largest = Math.max(largest, chunk.byteLength);
      }
      expect([found?.size, back.digest('hex')]).toEqual([bytes, facts.sha256]);
      expect(largest).toBeLessThan(bytes / 2);
      expect(await store.stat('round/large')).toEqual({ size: bytes });
      expect(await read('round/large', { start: bytes - 1, end: bytes + 10 })).toHaveLength(1);
    });

    test('is absent until it is put, and again once it is deleted, however often', async () => {
      const seen = async () => [await read('gone/one'), await store.stat('gone/one'), await keysOf('gone/')];
      expect(await seen()).toEqual([null, null, []]);
      await put('gone/one', 'x');
      expect(await seen()).toEqual(['x', { size: 1 }, ['gone/one']]);
      await store.delete('gone/one');
      await store.delete('gone/one');
      expect(await seen()).toEqual([null, null, []]);
      await put('gone/one', 'y');
      expect(await read('gone/one')).toBe('y');
    });

    test('is read in part, with the size of the whole', async () => {
      await put('part/digits', '0123456789');
      const of = async (start: number, end: number) => {
        const found = await store.get('part/digits', { start, end });
        return found && [await new Response(found.body).text(), found.size];
      };
      expect(await of(0, 0)).toEqual(['0', 10]);
      expect(await of(3, 5)).toEqual(['345', 10]);
      expect(await of(8, 99)).toEqual(['89', 10]);
      expect(await of(10, 20)).toEqual(['', 10]);
      await put('part/empty');
      expect(await read('part/empty', { start: 0, end: 5 })).toBe('');
      expect(await read('part/absent', { start: 0, end: 5 })).toBeNull();
      for (const [start, end] of [
        [-1, 3],
        [3, 2],
        [0.5, 2],
        [0, Number.NaN],
      ] as const)
        expect(store.get('part/digits', { start, end })).rejects.toThrow(RangeError);
    });

    test('may lie beside and below others whose names begin alike', async () => {
      const keys = [
        'near/a',
        'near/a-b',
        'near/a.b',
        'near/a/b',
        'near/a/b/c',
        'near/a0',
        'near/ab',
        'near/ab/c',
      ];
      for (const key of keys) await put(key, key);
      for (const key of keys) expect(await read(key)).toBe(key);
      expect(await keysOf('near/')).toEqual(keys);
      await store.delete('near/a/b');
      expect([await read('near/a/b/c'), await read('near/a')]).toEqual(['near/a/b/c', 'near/a']);
    });
  });

  describe('a put', () => {
    test('replaces in one step: readers see the former or the next, whole', async () => {
      const bytes = 300_000;
      await store.put('race/replaced', letters('a', bytes), { bytesMax });
      let isOver = false;
      const seen = new Set<string>();
      const readers = Array.from({ length: 3 }, async () => {
        while (!isOver) {
          const text = (await read('race/replaced')) ?? 'nothing';
          seen.add(text === (text[0] ?? '').repeat(bytes) ? (text[0] ?? '') : `wrong: ${text.length} bytes`);
        }
      });
      for (const letter of 'bcdefghij')
        await store.put('race/replaced', letters(letter, bytes), { bytesMax });
      isOver = true;
      await Promise.all(readers);
      expect([...seen].filter((what) => !/^[a-j]$/.test(what))).toEqual([]);
      expect(seen.size).toBeGreaterThan(1);
      expect((await read('race/replaced'))?.[0]).toBe('j');
    });

    test('at the same time as others to the same key leaves one of the bodies, whole', async () => {
      const bytes = 200_000;
      const all = [...'abcdef'];
      await Promise.all(all.map((letter) => store.put('race/several', letters(letter, bytes), { bytesMax })));
      const text = (await read('race/several')) ?? '';
      expect(all.map((letter) => letter.repeat(bytes))).toContain(text);
      expect(await keysOf('race/several')).toEqual(['race/several']);
    });

    test('may come together with deletes next to it', async () => {
      const keys = Array.from({ length: 10 }, (_, at) => `together/${at}/x`);
      for (let round = 0; round < 3; round += 1) {
        await Promise.all(keys.flatMap((key) => [put(key, key), store.delete(keys[0] ?? '')]));
        const found = await keysOf('together/');
        expect(found.filter((key) => key !== keys[0])).toEqual(keys.slice(1));
        await Promise.all(keys.map((key) => store.delete(key)));
      }
      expect(await keysOf('together/')).toEqual([]);
    });

    test.each([
      ['a small one', 1_000],
      ['a large one', largeBytes],
    ])('of more than is taken is refused, and nothing of it stays: %s', async (_, limit) => {
      const attempt = (key: string) => store.put(key, letters('x', limit + 1), { bytesMax: limit });
      await put('much/before', 'before');
      for (const key of ['much/before', 'much/absent']) {
        const error = await attempt(key).catch((thrown: unknown) => thrown);
        expect(error instanceof Failure && error.code).toBe('payload_too_large');
      }
      expect([await read('much/before'), await read('much/absent')]).toEqual(['before', null]);
      expect(await keysOf('much/')).toEqual(['much/before']);
      expect(await leftovers()).toBe(0);
      expect((await store.put('much/exact', letters('x', limit), { bytesMax: limit })).size).toBe(limit);
      await store.delete('much/exact');
    });

    test.each([
      ['at once', 0],
      ['in the middle', 100_000],
      ['when parts of it are there', largeBytes],
    ])('whose source fails %s fails with it, and what was there stays', async (_, bytes) => {
      const broken = new Error('the line was cut');
      async function* failing() {
        yield* letters('x', bytes);
        throw broken;
      }
      await put('broken/before', 'before');
      for (const key of ['broken/before', 'broken/absent']) {
        expect(await store.put(key, failing(), { bytesMax }).catch((error: unknown) => error)).toBe(broken);
      }
      expect([await read('broken/before'), await read('broken/absent')]).toEqual(['before', null]);
      expect(await keysOf('broken/')).toEqual(['broken/before']);
      expect(await leftovers()).toBe(0);
    });

    test.each([
      ['a small one', 100_000],
      ['a large one', largeBytes],
    ])('that is called off ends at once, though its source is silent: %s', async (_, bytes) => {
      const control = new AbortController();
      const silent = Promise.withResolvers<never>();
      const isWaiting = Promise.withResolvers<void>();
      async function* stalling() {
        yield* letters('x', bytes);
        isWaiting.resolve();
        await silent.promise;
      }
      await put('off/before', 'before');
      const attempt = store.put('off/before', stalling(), { bytesMax, signal: control.signal });
      attempt.catch(() => {});
      await isWaiting.promise;
      const reason = new Error('nobody waits for it');
      control.abort(reason);
      expect(await attempt.catch((error: unknown) => error)).toBe(reason);
      expect(await read('off/before')).toBe('before');
      expect(await leftovers()).toBe(0);
      // Before it begins, it is called off as well.
      const late = store.put('off/before', bodyOf('x'), { bytesMax, signal: control.signal });
      expect(await late.catch((error: unknown) => error)).toBe(reason);
      expect(await read('off/before')).toBe('before');
    });
  });

  test('what is read may be left in the middle', async () => {
    await store.put('left/large', letters('x', 4 * mebibyte), { bytesMax });
    const found = await store.get('left/large');
    const reader = found?.body.getReader();
    expect((await reader?.read())?.value?.byteLength).toBeGreaterThan(0);
    await reader?.cancel();
    await store.delete('left/large');
    expect(await store.stat('left/large')).toBeNull();
  });

  test('what is never read is given up by itself', async () => {
    await store.put('left/unread', letters('x', mebibyte), { bytesMax });
    for (let at = 0; at < 50; at += 1) expect((await store.get('left/unread'))?.size).toBe(mebibyte);
    Bun.gc(true);
    expect(await read('left/unread', { start: 0, end: 1 })).toBe('xx');
  });

  test('a list is in order, over many, from anywhere', async () => {
    const store = await open();
    const keys = Array.from({ length: listedKeys }, (_, at) => {
      const hash = createHash('sha256').update(String(at)).digest('hex');
      return at % 3 === 0 ? `many/${hash}` : `many/${hash.slice(0, 1)}/${hash.slice(1, 9)}`;
    }).sort();
    const waiting = [...keys, 'manx', 'manz/a'];
    const begun = Date.now();
    const work = async () => {
      for (let key = waiting.pop(); key; key = waiting.pop()) await store.put(key, bodyOf(key), { bytesMax });
    };
    await Promise.all(Array.from({ length: 8 }, work));
    const found: { key: string; size: number; modifiedAt: Date }[] = [];
    for await (const object of store.list('many/')) found.push(object);
    expect(found.map(({ key }) => key)).toEqual(keys);
    expect(found.every(({ key, size }) => size === key.length)).toBe(true);
    // To the second, and by the clock of the store.
    expect(found.every(({ modifiedAt }) => modifiedAt.getTime() >= begun - 5_000)).toBe(true);
    expect(found.every(({ modifiedAt }) => modifiedAt.getTime() <= Date.now() + 5_000)).toBe(true);

    const listed = async (prefix: string, after?: string) => {
      const some: string[] = [];
      for await (const { key } of store.list(prefix, after)) some.push(key);
      return some;
    };
    expect(await listed('')).toEqual(['manx', ...keys, 'manz/a'].sort());
    for (const prefix of ['many/a', 'many/a/', 'many/ab', 'many/f/0', keys[7] ?? '', 'many/zz']) {
      expect(await listed(prefix)).toEqual(keys.filter((key) => key.startsWith(prefix)));
    }
    for (const after of [keys[0], keys[150], keys.at(-1), 'many/a', 'many/b/', 'manz', 'a', 'z']) {
      expect(await listed('many/', after)).toEqual(keys.filter((key) => key > (after ?? '')));
    }
  });

  test('keys that the platform does not make are refused before anything happens', async () => {
    const hostile = [
      '',
      '/',
      '/a',
      'a/',
      'a//b',
      '.',
      '..',
      '../a',
      'a/../b',
      'a/./b',
      'a/..',
      'A',
      'a b',
      'a\\b',
      'a\u0000b',
      'a%2f',
      'a+b',
      'a~',
      'ä',
      '-a',
      'a\n',
      `a${'b'.repeat(201)}`,
    ];
    for (const key of hostile) {
      expect(put(key, 'x')).rejects.toThrow(RangeError);
      expect(store.get(key)).rejects.toThrow(RangeError);
      expect(store.stat(key)).rejects.toThrow(RangeError);
      expect(store.delete(key)).rejects.toThrow(RangeError);
    }
    for (const prefix of ['../', '/', 'A', 'a~']) expect(keysOf(prefix)).rejects.toThrow(RangeError);
    const longest = `a${'/b'.repeat(100)}`;
    await put(longest, 'deep');
    expect(await read(longest)).toBe('deep');
    await store.delete(longest);
    await put('a/.hidden/..x/...', 'dots');
    expect(await keysOf('a/')).toEqual(['a/.hidden/..x/...']);
    await store.delete('a/.hidden/..x/...');
  });

  test('a store that works passes its check, which leaves nothing', async () => {
    await store.check();
    expect(await keysOf('svc-check/')).toEqual([]);
  });
}
