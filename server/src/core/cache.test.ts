import { expect, test } from 'bun:test';
import { createTaggedCache } from './cache.ts';

function fakeInvalidation() {
  let listener: (tag: string | null) => void = () => {};
  const state = { live: true };
  return {
    state,
    notify: (tag: string | null) => listener(tag),
    invalidation: {
      isLive: () => state.live,
      onChange: (next: (tag: string | null) => void) => {
        listener = next;
      },
    },
  };
}

test('a value is loaded once, and again after its tag is invalidated', async () => {
  const { invalidation, notify } = fakeInvalidation();
  const cache = createTaggedCache<number>(invalidation, { entriesMax: 10 });
  let loads = 0;
  const get = () => cache.get('k', async () => ({ value: ++loads, tags: ['user:1'] }));
  expect([await get(), await get()]).toEqual([1, 1]);
  notify('user:2');
  expect(await get()).toBe(1);
  notify('user:1');
  expect(await get()).toBe(2);
});

test('a value whose load began before an invalidation is not cached', async () => {
  const { invalidation, notify } = fakeInvalidation();
  const cache = createTaggedCache<string>(invalidation, { entriesMax: 10 });
  const stale = await cache.get('k', async () => {
    notify('user:1');
    return { value: 'old', tags: ['user:1'] };
  });
  expect(stale).toBe('old');
  expect(await cache.get('k', async () => ({ value: 'new', tags: ['user:1'] }))).toBe('new');
});

test('nothing is served from the cache while the invalidation connection is down', async () => {
  const { invalidation, state } = fakeInvalidation();
  const cache = createTaggedCache<number>(invalidation, { entriesMax: 10 });
  let loads = 0;
  const get = () => cache.get('k', async () => ({ value: ++loads, tags: [] }));
  await get();
  state.live = false;
  expect([await get(), await get()]).toEqual([2, 3]);
});

test('the cache never exceeds entriesMax', async () => {
  const { invalidation } = fakeInvalidation();
  const cache = createTaggedCache<number>(invalidation, { entriesMax: 2 });
  let loads = 0;
  const get = (key: string) => cache.get(key, async () => ({ value: ++loads, tags: [] }));
  await get('a');
  await get('b');
  await get('c');
  expect(await get('a')).toBe(4);
});

test('concurrent callers share one load, unless an invalidation came in between', async () => {
  const { invalidation, notify } = fakeInvalidation();
  const cache = createTaggedCache<string>(invalidation, { entriesMax: 10 });
  const answers = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
  let loads = 0;
  const get = () =>
    cache.get('k', async () => ({ value: (await answers[loads++]?.promise) ?? '', tags: ['user:1'] }));
  const before = Array.from({ length: 20 }, get);
  await Promise.resolve();
  expect(loads).toBe(1);
  notify('user:1');
  const after = Array.from({ length: 20 }, get);
  await Promise.resolve();
  expect(loads).toBe(2);
  answers[0]?.resolve('old');
  answers[1]?.resolve('new');
  expect(new Set(await Promise.all(before))).toEqual(new Set(['old']));
  expect(new Set(await Promise.all(after))).toEqual(new Set(['new']));
  expect(await get()).toBe('new');
});

test('a failed load fails for all callers that share it, and the next call loads again', async () => {
  const { invalidation } = fakeInvalidation();
  const cache = createTaggedCache<string>(invalidation, { entriesMax: 10 });
  const failing = () => Promise.reject(new Error('away'));
  const attempts = await Promise.allSettled([cache.get('k', failing), cache.get('k', failing)]);
  expect(attempts.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(await cache.get('k', async () => ({ value: 'there', tags: [] }))).toBe('there');
});

test('peek returns a cached value unless it was invalidated or the connection is down', async () => {
  const { invalidation, state, notify } = fakeInvalidation();
  const cache = createTaggedCache<number>(invalidation, { entriesMax: 10 });
  const get = () => cache.get('k', async () => ({ value: 1, tags: ['user:1'] }));
  expect(cache.peek('k')).toBeNull();
  await get();
  expect(cache.peek('k')).toBe(1);
  state.live = false;
  expect(cache.peek('k')).toBeNull();
  state.live = true;
  notify('user:1');
  expect(cache.peek('k')).toBeNull();
});
