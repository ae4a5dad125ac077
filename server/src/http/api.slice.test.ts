import { expect, test } from 'bun:test';
import { change, read, who } from '@svc/contract/endpoint.ts';
import { z } from 'zod';
import { rowsOnlyOutbox } from '../core/outbox-worker.ts';
import { fail } from '../core/problem.ts';
import { silentLog, testCaller, useTestDatabase } from '../testing.ts';
import { createApi } from './api.ts';
import { type Route, type RunMode, route } from './router.ts';

const database = useTestDatabase();

const shape = { answer: z.object({ prepared: z.string() }) };
const thing = {
  authority: { credential: 'login' },
  who: who('O:y C:y A:y M:y P:n N:n X:y'),
  summary: 'A thing',
  status: 200,
} as const;

const getThing = read<typeof shape>()({ ...thing, id: 'things.get', path: '/api/v1/thing' });
const setThing = change<typeof shape>()({ ...thing, id: 'things.set', path: '/api/v1/thing' });

const question = { body: z.strictObject({ of: z.string() }), answer: z.object({ result: z.string() }) };
const ask = read<typeof question>()({
  ...thing,
  id: 'things.ask',
  method: 'POST',
  path: '/api/v1/thing/ask',
});

type Prepare = (ctx: unknown, input: unknown, run: { mode: RunMode }) => Promise<string>;

function startApi(routes: readonly Route[]) {
  const caller = testCaller();
  const api = createApi(
    {
      db: database.db,
      outbox: rowsOnlyOutbox,
      events: [],
      now: () => new Date(),
      rows: database.rows,
      checkAnswers: true,
      authenticate: async () => caller,
      tenantAccess: async () => null,
      appAccess: async () => null,
    },
    routes,
  );
  return async (method: string, path: string, init: Omit<RequestInit, 'method'> = {}) => {
    const request = new Request(`http://svc.example.test/api/v1/thing${path}`, { method, ...init });
    const response = await api(request, new URL(request.url), {
      requestId: 'test',
      log: silentLog,
      setRoute: () => {},
      clientAddress: '127.0.0.1',
      deadline: new AbortController().signal,
    });
    return response.text();
  };
}

/** An endpoint to read and one to change a thing; both return the result of `prepare`. */
function thingsWith(prepare: Prepare) {
  const send = startApi([
    route(getThing, shape, async (_ctx, _input, prepared: string) => ({ prepared }), { prepare }),
    route(
      setThing,
      shape,
      async (ctx, _input, prepared: string) => {
        const target = { kind: 'thing', id: 'one', name: 'one' };
        ctx.audit({ action: 'things.set', target, before: null, after: { prepared } });
        return { prepared };
      },
      { prepare },
    ),
  ]);
  return (method: string, query: string, headers: Record<string, string> = {}) =>
    send(method, query, { headers });
}

test('prepare receives the mode of the request', async () => {
  const modes: RunMode[] = [];
  const ask = thingsWith(async (_ctx, _input, { mode }) => {
    modes.push(mode);
    return `for ${mode}`;
  });
  expect(await ask('GET', '')).toContain('for execute');
  expect(await ask('POST', '?dry_run=true')).toContain('for preview');
  expect(await ask('POST', '')).toContain('for execute');
  expect(modes).toEqual(['execute', 'preview', 'execute']);
});

test('a repeated request with its key gets the stored response, and prepare does not run again', async () => {
  let calls = 0;
  const ask = thingsWith(async () => {
    calls++;
    if (calls > 1) throw fail('not_found', { detail: 'The code was redeemed.' });
    return 'redeemed';
  });
  const key = { 'idempotency-key': Bun.randomUUIDv7() };
  const first = await ask('POST', '', key);
  expect(await ask('POST', '', key)).toBe(first);
  expect(calls).toBe(1);
  // Reuse of the key for another request is refused before `prepare`.
  await expect(ask('POST', '?dry_run=false', key)).rejects.toMatchObject({ code: 'idempotency_mismatch' });
  expect(calls).toBe(1);
  // A preview runs `prepare`, because it neither replays nor stores.
  await expect(ask('POST', '?dry_run=true', key)).rejects.toMatchObject({ code: 'not_found' });
});

test('a read by POST stores its response under a key like a change', async () => {
  let calls = 0;
  let mayReplay = true;
  const [begun, hold] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const send = startApi([
    route(
      ask,
      question,
      async (_ctx, { body }) => {
        calls++;
        if (body.of === 'slow') {
          begun.resolve();
          await hold.promise;
        }
        return { result: `${body.of} ${calls}` };
      },
      {
        beforeReplay: async (_ctx, { body }) => {
          if (!mayReplay) throw fail('forbidden', { detail: body.of });
        },
      },
    ),
  ]);
  const json = { 'content-type': 'application/json' };
  const post = (of: string, key?: string) =>
    send('POST', '/ask', {
      body: JSON.stringify({ of }),
      headers: key ? { ...json, 'idempotency-key': key } : json,
    });
  const key = Bun.randomUUIDv7();
  expect([await post('a', key), await post('a', key), calls]).toEqual([
    '{"result":"a 1"}',
    '{"result":"a 1"}',
    1,
  ]);
  expect(await post('a')).toBe('{"result":"a 2"}');
  await expect(post('b', key)).rejects.toMatchObject({ code: 'idempotency_mismatch' });
  mayReplay = false;
  await expect(post('a', key)).rejects.toMatchObject({ code: 'forbidden', detail: 'a' });

  const other = Bun.randomUUIDv7();
  const first = post('slow', other);
  await begun.promise;
  await expect(post('slow', other)).rejects.toMatchObject({ code: 'idempotency_in_progress' });
  hold.resolve();
  expect(await first).toBe('{"result":"slow 3"}');
});
