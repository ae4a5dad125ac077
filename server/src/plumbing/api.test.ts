import { afterAll, beforeAll, expect, test } from 'bun:test';
import { endpoint, who } from '@svc/contract/endpoint.ts';
import { z } from 'zod';
import { silentLog, type TestDatabase, testCaller, testDatabase } from '../testing.ts';
import { createApi } from './api.ts';
import { rowsOnly } from './outbox-rows.ts';
import { fail } from './problem.ts';
import { type Route, type RunMode, route } from './route.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.close());

const shape = { answer: z.object({ prepared: z.string() }) };
const thing = {
  authority: { credential: 'login' },
  who: who('O:y C:y A:y M:y P:n N:n X:y'),
  summary: 'A thing of the test',
  status: 200,
} as const;

const read = endpoint<typeof shape>()({
  ...{ ...thing, id: 'things.get', method: 'GET', path: '/api/v1/thing', kind: 'read' },
});
const change = endpoint<typeof shape>()({
  ...{ ...thing, id: 'things.set', method: 'POST', path: '/api/v1/thing', kind: 'mutate' },
});

const question = { body: z.strictObject({ of: z.string() }), answer: z.object({ said: z.string() }) };
const ask = endpoint<typeof question>()({
  ...{ ...thing, id: 'things.ask', method: 'POST', path: '/api/v1/thing/ask', kind: 'read' },
});

type Prepare = (ctx: unknown, input: unknown, run: { mode: RunMode }) => Promise<string>;

function apiOf(routes: readonly Route[]) {
  const caller = testCaller();
  const api = createApi(
    {
      ...{
        db: database.db,
        outbox: rowsOnly,
        now: () => new Date(),
        rows: database.rows,
        checkAnswers: true,
      },
      authenticate: async () => caller,
      tenantAccess: async () => null,
      appAccess: async () => null,
    },
    routes,
  );
  return async (method: string, path: string, init: Omit<RequestInit, 'method'> = {}) => {
    const request = new Request(`http://svc.example.test/api/v1/thing${path}`, { method, ...init });
    const answer = await api(request, new URL(request.url), {
      ...{ requestId: 'test', log: silentLog, setRoute: () => {}, clientAddress: '127.0.0.1' },
      deadline: new AbortController().signal,
    });
    return answer.text();
  };
}

/** A thing that is read and set, each with what `prepare` says. */
function thingsWith(prepare: Prepare) {
  const send = apiOf([
    route(read, shape, async (_ctx, _input, prepared: string) => ({ prepared }), { prepare }),
    route(
      change,
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

test('what is prepared before the transaction is told whether it is for a preview', async () => {
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

test('who repeats a request with its key is told what they were told, and nobody else is asked again', async () => {
  let asked = 0;
  const ask = thingsWith(async () => {
    asked++;
    if (asked > 1) throw fail('not_found', { detail: 'The code was redeemed.' });
    return 'redeemed';
  });
  const key = { 'idempotency-key': Bun.randomUUIDv7() };
  const first = await ask('POST', '', key);
  expect(await ask('POST', '', key)).toBe(first);
  expect(asked).toBe(1);
  // The same key for something else is refused before anybody is asked.
  await expect(ask('POST', '?dry_run=false', key)).rejects.toMatchObject({ code: 'idempotency_mismatch' });
  expect(asked).toBe(1);
  // A preview asks, since it neither replays nor keeps.
  await expect(ask('POST', '?dry_run=true', key)).rejects.toMatchObject({ code: 'not_found' });
});

test('a question that is asked by POST keeps its answer under a key as a change does', async () => {
  let asked = 0;
  let mayReplay = true;
  const [begun, hold] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const send = apiOf([
    route(
      ask,
      question,
      async (_ctx, { body }) => {
        asked++;
        if (body.of === 'slow') {
          begun.resolve();
          await hold.promise;
        }
        return { said: `${body.of} ${asked}` };
      },
      {
        beforeReplay: async (_ctx, { body }) => {
          if (!mayReplay) throw fail('forbidden', { detail: body.of });
        },
      },
    ),
  ]);
  const post = (of: string, key?: string) =>
    send('POST', '/ask', {
      body: JSON.stringify({ of }),
      headers: { 'content-type': 'application/json', ...(key ? { 'idempotency-key': key } : {}) },
    });
  const key = Bun.randomUUIDv7();
  expect([await post('a', key), await post('a', key), asked]).toEqual([
    '{"said":"a 1"}',
    '{"said":"a 1"}',
    1,
  ]);
  expect(await post('a')).toBe('{"said":"a 2"}');
  await expect(post('b', key)).rejects.toMatchObject({ code: 'idempotency_mismatch' });
  mayReplay = false;
  await expect(post('a', key)).rejects.toMatchObject({ code: 'forbidden', detail: 'a' });

  const other = Bun.randomUUIDv7();
  const first = post('slow', other);
  await begun.promise;
  await expect(post('slow', other)).rejects.toMatchObject({ code: 'idempotency_in_progress' });
  hold.resolve();
  expect(await first).toBe('{"said":"slow 3"}');
});
