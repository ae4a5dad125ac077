import { beforeAll, describe, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { sha256 } from '../../core/values.ts';
import { failureCode } from '../testing.ts';
import type { ObjectStore } from './object-store.ts';
import { bodyFrom, repeatLetter } from './testing.ts';

const mebibyte = 1024 * 1024;
const bytesMax = 64 * mebibyte;

export interface Conformance {
  open(): Promise<ObjectStore>;
  listedKeys: number;
  largeBytes: number;
  countUnfinished(): Promise<number>;
}

export function describeObjectStore({ open, listedKeys, largeBytes, countUnfinished }: Conformance): void {
  let store: ObjectStore;
  beforeAll(async () => {
    store = await open();
  });
  const put = (key: string, ...chunks: string[]) => store.put(key, bodyFrom(...chunks), { bytesMax });
  const read = async (key: string, range?: { start: number; end: number }) => {
    const found = await store.get(key, range);
    return found && (await new Response(found.body).text());
  };
  const listKeys = async (prefix: string, after?: string, from = store) =>
    (await Array.fromAsync(from.list(prefix, after))).map(({ key }) => key);
  const thrownBy = (attempt: Promise<unknown>) => attempt.catch((error: unknown) => error);
  const expectOnlyBefore = async (folder: string) => {
    expect(await listKeys(`${folder}/`)).toEqual([`${folder}/before`]);
    expect([await read(`${folder}/before`), await countUnfinished()]).toEqual(['before', 0]);
  };

  describe('an object', () => {
    test('has the content, size and hash that were put', async () => {
      const facts = { size: 12, sha256: sha256('hello, world') };
      expect(await put('round/trip', 'hello', ', ', '', 'world')).toEqual(facts);
      expect(await read('round/trip')).toBe('hello, world');
      expect(await store.stat('round/trip')).toEqual({ size: 12 });
    });

    test('may be empty', async () => {
      expect(await put('round/empty')).toEqual({ size: 0, sha256: sha256('') });
      expect([await read('round/empty'), await store.stat('round/empty')]).toEqual(['', { size: 0 }]);
    });

    test('of many megabytes is streamed in both directions', async () => {
      const bytes = 20 * mebibyte + 17;
      const hash = createHash('sha256');
      async function* pieces() {
        for (let at = 0, seed = 1; at < bytes; at += 100_000, seed += 1) {
          const piece = new Uint8Array(Math.min(100_000, bytes - at)).map((_, byte) => (byte * seed) % 251);
          hash.update(piece);
          yield piece;
        }
      }
      const facts = await store.put('round/large', pieces(), { bytesMax });
      expect(facts).toEqual({ size: bytes, sha256: hash.digest('hex') });
      const found = await store.get('round/large');
      const chunks = await Array.fromAsync(found?.body ?? []);
      expect([found?.size, sha256(Buffer.concat(chunks))]).toEqual([bytes, facts.sha256]);
      expect(Math.max(...chunks.map((chunk) => chunk.byteLength))).toBeLessThan(bytes / 2);
      expect(await store.stat('round/large')).toEqual({ size: bytes });
      expect(await read('round/large', { start: bytes - 1, end: bytes + 10 })).toHaveLength(1);
    });

    test('is absent before put and after delete', async () => {
      const seen = () => Promise.all([read('gone/one'), store.stat('gone/one'), listKeys('gone/')]);
      expect(await seen()).toEqual([null, null, []]);
      await put('gone/one', 'x');
      expect(await seen()).toEqual(['x', { size: 1 }, ['gone/one']]);
      await store.delete('gone/one');
      await store.delete('gone/one');
      expect(await seen()).toEqual([null, null, []]);
      await put('gone/one', 'y');
      expect(await read('gone/one')).toBe('y');
    });

    test('can be read in ranges, with the size of the whole object', async () => {
      await put('part/digits', '0123456789');
      const readRange = async (start: number, end: number) => {
        const found = await store.get('part/digits', { start, end });
        return found && [await new Response(found.body).text(), found.size];
      };
      expect(await readRange(0, 0)).toEqual(['0', 10]);
      expect(await readRange(3, 5)).toEqual(['345', 10]);
      expect(await readRange(8, 99)).toEqual(['89', 10]);
      expect(await readRange(10, 20)).toEqual(['', 10]);
      await put('part/empty');
      expect(await read('part/empty', { start: 0, end: 5 })).toBe('');
      expect(await read('part/absent', { start: 0, end: 5 })).toBeNull();
      for (const start of [-1, 3, 0.5, Number.NaN])
        expect(store.get('part/digits', { start, end: 2 })).rejects.toThrow(RangeError);
      expect(store.get('part/digits', { start: 0, end: Number.NaN })).rejects.toThrow(RangeError);
    });

    test('can have a key that is a prefix of other keys', async () => {
      const keys = 'a a-b a.b a/b a/b/c a0 ab ab/c'.split(' ').map((key) => `near/${key}`);
      for (const key of keys) await put(key, key);
      for (const key of keys) expect(await read(key)).toBe(key);
      expect(await listKeys('near/')).toEqual(keys);
      await store.delete('near/a/b');
      expect([await read('near/a/b/c'), await read('near/a')]).toEqual(['near/a/b/c', 'near/a']);
    });
  });

  describe('a put', () => {
    test('is atomic: readers see the complete old or new content', async () => {
      const bytes = 300_000;
      await store.put('race/replaced', repeatLetter('a', bytes), { bytesMax });
      let isDone = false;
      const seen = new Set<string>();
      const readers = Array.from({ length: 3 }, async () => {
        while (!isDone) {
          const text = (await read('race/replaced')) ?? 'nothing';
          seen.add(text === (text[0] ?? '').repeat(bytes) ? (text[0] ?? '') : `wrong: ${text.length} bytes`);
        }
      });
      for (const letter of 'bcdefghij')
        await store.put('race/replaced', repeatLetter(letter, bytes), { bytesMax });
      isDone = true;
      await Promise.all(readers);
      expect([...seen].filter((what) => !/^[a-j]$/.test(what))).toEqual([]);
      expect(seen.size).toBeGreaterThan(1);
      expect((await read('race/replaced'))?.[0]).toBe('j');
    });

    test('concurrent with others to the same key leaves one complete body', async () => {
      const bytes = 200_000;
      const all = [...'abcdef'];
      await Promise.all(
        all.map((letter) => store.put('race/several', repeatLetter(letter, bytes), { bytesMax })),
      );
      const text = (await read('race/several')) ?? '';
      expect(all.map((letter) => letter.repeat(bytes))).toContain(text);
      expect(await listKeys('race/several')).toEqual(['race/several']);
    });

    test('works concurrently with deletes', async () => {
      const keys = Array.from({ length: 10 }, (_, at) => `together/${at}/x`);
      for (let round = 0; round < 3; round += 1) {
        await Promise.all(keys.flatMap((key) => [put(key, key), store.delete(keys[0] ?? '')]));
        const found = await listKeys('together/');
        expect(found.filter((key) => key !== keys[0])).toEqual(keys.slice(1));
        await Promise.all(keys.map((key) => store.delete(key)));
      }
      expect(await listKeys('together/')).toEqual([]);
    });

    test.each([
      ['a small one', 1_000],
      ['a large one', largeBytes],
    ])('beyond bytesMax is rejected and leaves nothing: %s', async (_, limit) => {
      await put('much/before', 'before');
      for (const key of ['much/before', 'much/absent']) {
        const attempt = store.put(key, repeatLetter('x', limit + 1), { bytesMax: limit });
        expect(await failureCode(attempt)).toBe('payload_too_large');
      }
      await expectOnlyBefore('much');
      expect((await store.put('much/exact', repeatLetter('x', limit), { bytesMax: limit })).size).toBe(limit);
      await store.delete('much/exact');
    });

    test.each([
      ['at once', 0],
      ['in the middle', 100_000],
      ['after some parts', largeBytes],
    ])('whose source fails %s fails, and keeps the old object', async (_, bytes) => {
      const broken = new Error('connection lost');
      async function* failing() {
        yield* repeatLetter('x', bytes);
        throw broken;
      }
      await put('broken/before', 'before');
      for (const key of ['broken/before', 'broken/absent'])
        expect(await thrownBy(store.put(key, failing(), { bytesMax }))).toBe(broken);
      await expectOnlyBefore('broken');
    });

    test.each([
      ['a small one', 100_000],
      ['a large one', largeBytes],
    ])('that is aborted ends at once, even if its source is idle: %s', async (_, bytes) => {
      const control = new AbortController();
      const silent = Promise.withResolvers<never>();
      const isWaiting = Promise.withResolvers<void>();
      async function* stalling() {
        yield* repeatLetter('x', bytes);
        isWaiting.resolve();
        await silent.promise;
      }
      await put('off/before', 'before');
      const attempt = store.put('off/before', stalling(), { bytesMax, signal: control.signal });
      attempt.catch(() => {});
      await isWaiting.promise;
      const reason = new Error('aborted by the caller');
      control.abort(reason);
      expect(await thrownBy(attempt)).toBe(reason);
      await expectOnlyBefore('off');
      const late = store.put('off/before', bodyFrom('x'), { bytesMax, signal: control.signal });
      expect(await thrownBy(late)).toBe(reason);
      await expectOnlyBefore('off');
    });
  });

  test('a body can be cancelled in the middle', async () => {
    await store.put('left/large', repeatLetter('x', 4 * mebibyte), { bytesMax });
    const found = await store.get('left/large');
    const reader = found?.body.getReader();
    expect((await reader?.read())?.value?.byteLength).toBeGreaterThan(0);
    await reader?.cancel();
    await store.delete('left/large');
    expect(await store.stat('left/large')).toBeNull();
  });

  test('an unread body is released', async () => {
    await store.put('left/unread', repeatLetter('x', mebibyte), { bytesMax });
    for (let at = 0; at < 50; at += 1) expect((await store.get('left/unread'))?.size).toBe(mebibyte);
    Bun.gc(true);
    expect(await read('left/unread', { start: 0, end: 1 })).toBe('xx');
  });

  test('a list is sorted and can start anywhere', async () => {
    const store = await open();
    const keys = Array.from({ length: listedKeys }, (_, at) => {
      const hash = sha256(String(at));
      return at % 3 === 0 ? `many/${hash}` : `many/${hash.slice(0, 1)}/${hash.slice(1, 9)}`;
    }).sort();
    const waiting = [...keys, 'manx', 'manz/a'].values();
    const startedAt = Date.now();
    const work = async () => {
      for (const key of waiting) await store.put(key, bodyFrom(key), { bytesMax });
    };
    await Promise.all(Array.from({ length: 8 }, work));
    const found = await Array.fromAsync(store.list('many/'));
    expect(found.map(({ key, size }) => [key, size])).toEqual(keys.map((key) => [key, key.length]));
    for (const { modifiedAt } of found)
      expect(Math.abs(modifiedAt.getTime() - startedAt)).toBeLessThan(Date.now() - startedAt + 5_000);
    expect(await listKeys('', undefined, store)).toEqual(['manx', ...keys, 'manz/a'].sort());
    for (const prefix of ['many/a', 'many/a/', 'many/ab', 'many/f/0', keys[7] ?? '', 'many/zz'])
      expect(await listKeys(prefix, undefined, store)).toEqual(keys.filter((key) => key.startsWith(prefix)));
    for (const after of [keys[0], keys[150], keys.at(-1), 'many/a', 'many/b/', 'manz', 'a', 'z'])
      expect(await listKeys('many/', after, store)).toEqual(keys.filter((key) => key > (after ?? '')));
  });

  test('invalid keys are rejected', async () => {
    const malformed = '/ /a a/ a//b . .. ../a a/../b a/./b a/.. A a\\b a%2f a+b a~ ä -a'.split(' ');
    for (const key of [...malformed, '', 'a b', 'a\u0000b', 'a\n', `a${'b'.repeat(201)}`]) {
      expect(put(key, 'x')).rejects.toThrow(RangeError);
      expect(store.get(key)).rejects.toThrow(RangeError);
      expect(store.stat(key)).rejects.toThrow(RangeError);
      expect(store.delete(key)).rejects.toThrow(RangeError);
    }
    for (const prefix of ['../', '/', 'A', 'a~']) expect(listKeys(prefix)).rejects.toThrow(RangeError);
    const longest = `a${'/b'.repeat(100)}`;
    await put(longest, 'deep');
    expect(await read(longest)).toBe('deep');
    await store.delete(longest);
    await put('a/.hidden/..x/...', 'dots');
    expect(await listKeys('a/')).toEqual(['a/.hidden/..x/...']);
    await store.delete('a/.hidden/..x/...');
  });

  test('check passes and leaves nothing', async () => {
    await store.check();
    expect(await listKeys('svc-check/')).toEqual([]);
  });
}
