import { expect, test } from 'bun:test';
import { createLastKnown } from './cache.ts';
import { fail } from './problem.ts';

const away = () =>
  Promise.reject(
    Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED', syscall: 'connect' }),
  );

function world() {
  let listener: (tag: string | null) => void = () => {};
  const clock = { ms: 0 };
  const known = createLastKnown<{ value: number; tags: string[] }>(
    {
      onChange(next) {
        listener = next;
      },
    },
    { entriesMax: 2, now: () => clock.ms, isIncomplete: ({ value }, last) => value === 0 && last.value > 0 },
  );
  const put = (key: string, value: number, tags: string[] = []) =>
    known.load(key, async () => ({ value, tags }));
  const ask = (key: string) =>
    known.load(key, away).then(
      (loaded) => loaded?.value,
      (error: Error) => error.message,
    );
  return { clock, known, put, ask, notify: (tag: string | null) => listener(tag) };
}
const refused = 'connect ECONNREFUSED';

test('while the database is away, a load gives the last value, up to ten minutes', async () => {
  const { clock, put, ask, notify } = world();
  await put('a', 1);
  clock.ms += 3_600_000;
  notify(null);
  expect([await ask('a'), await ask('unknown')]).toEqual([1, refused]);
  clock.ms += 599_000;
  expect(await ask('a')).toBe(1);
  clock.ms += 1_001;
  expect(await ask('a')).toBe(refused);
});

test('a second loss of the notifications does not make an old value known again', async () => {
  const { clock, put, ask, notify } = world();
  await put('a', 1);
  notify(null);
  clock.ms += 599_000;
  notify(null);
  clock.ms += 2_000;
  expect(await ask('a')).toBe(refused);
});

test('a value that has changed is not given again', async () => {
  const { clock, put, ask, notify, known } = world();
  await put('a', 1, ['app:1']);
  notify('app:2');
  expect(await ask('a')).toBe(1);
  notify('app:1');
  expect(await ask('a')).toBe(refused);
  clock.ms += 5_000;
  await put('b', 2);
  await known.load('b', async () => null);
  expect(await ask('b')).toBe(refused);
});

test('a value that changes during the load is not given again', async () => {
  const { clock, put, known, notify } = world();
  await put('a', 1, ['app:1']);
  clock.ms += 5_000;
  const asked = known.load('a', () => {
    notify('app:1');
    return away();
  });
  expect(await asked.catch((error: Error) => error.message)).toBe(refused);
});

test('other errors than those of a missing database are passed on', async () => {
  const { clock, put, known } = world();
  await put('a', 1);
  clock.ms += 5_000;
  const asked = known.load('a', () => Promise.reject(fail('forbidden')));
  expect(await asked.catch((error: { code: string }) => error.code)).toBe('forbidden');
});

test('after a failed load, one load in a second is tried', async () => {
  const { clock, put, known } = world();
  await put('a', 1);
  let loads = 0;
  const ask = () =>
    known.load('a', () => {
      loads++;
      return away();
    });
  clock.ms += 5_000;
  await ask();
  await ask();
  expect(loads).toBe(1);
  clock.ms += 1_001;
  await ask();
  expect(loads).toBe(2);
});

test('after the database was away, an incomplete value does not replace the last one for fifteen seconds', async () => {
  const { clock, put, ask, notify } = world();
  await put('a', 1, ['app:1']);
  await put('b', 2);
  clock.ms += 5_000;
  expect(await ask('a')).toBe(1);
  clock.ms += 60_000;
  expect([await put('a', 0), await put('b', 0)]).toMatchObject([{ value: 1 }, { value: 2 }]);
  clock.ms += 14_000;
  expect([await put('b', 3), await put('b', 0)]).toMatchObject([{ value: 3 }, { value: 3 }]);
  notify('app:1');
  expect(await put('a', 0)).toMatchObject({ value: 0 });
  clock.ms += 1_001;
  expect(await put('b', 0)).toMatchObject({ value: 0 });
});
