import { expect, test } from 'bun:test';
import type { Caller } from '../core/context.ts';
import { Failure } from '../core/problem.ts';
import { type Counts, createCallCounter, createCallerLimit } from './rate-limit.ts';

const caller = (kind: Caller['kind'], userId: string, credentialId = '') =>
  ({ kind, userId, credentialId, scope: kind === 'pat' ? {} : undefined }) as Caller;

function start(limits: Partial<Parameters<typeof createCallerLimit>[0]> = {}) {
  let at = 1_000_000;
  const limit = createCallerLimit({ person: 3, token: 2, address: 1, ...limits }, { now: () => at });
  return {
    advance: (ms: number) => {
      at += ms;
    },
    take: (from: Caller | null, address = '192.0.2.1', when: 'always' | 'when_low' = 'always') => {
      try {
        return limit(from, () => address, when);
      } catch (error) {
        if (error instanceof Failure) return { code: error.code, ...error.headers };
        throw error;
      }
    },
  };
}

test('a person has a number of requests in ten seconds, and the headers contain the remaining number', () => {
  const { take, advance } = start();
  expect(take(caller('login', 'ada'))).toEqual({
    'ratelimit-policy': '"person";q=3;w=10',
    ratelimit: '"person";r=2;t=10',
  });
  advance(2_500);
  expect(take(caller('session', 'ada'))).toMatchObject({ ratelimit: '"person";r=1;t=8' });
  expect(take(caller('login', 'ada'))).toMatchObject({ ratelimit: '"person";r=0;t=8' });
  expect(take(caller('login', 'ada'))).toEqual({
    code: 'rate_limited',
    'ratelimit-policy': '"person";q=3;w=10',
    ratelimit: '"person";r=0;t=8',
    'retry-after': '8',
  });
  advance(7_500);
  expect(take(caller('login', 'ada'))).toMatchObject({ ratelimit: '"person";r=2;t=10' });
});

test('each person and each personal access token is counted by itself', () => {
  const { take } = start();
  for (const left of [1, 0])
    for (const token of ['one', 'two'])
      expect(take(caller('pat', 'ada', token))).toMatchObject({ ratelimit: `"token";r=${left};t=10` });
  expect(take(caller('pat', 'ada', 'one'))).toMatchObject({ code: 'rate_limited' });
  for (const person of ['ada', 'bob'])
    expect(take(caller('login', person))).toMatchObject({ ratelimit: '"person";r=2;t=10' });
});

test('requests without a credential are counted by address, of IPv6 by network', () => {
  const { take } = start();
  expect(take(null)).toMatchObject({ ratelimit: '"address";r=0;t=10' });
  expect(take(null)).toMatchObject({ code: 'rate_limited' });
  expect(take(null, '2001:db8::1')).toMatchObject({ ratelimit: '"address";r=0;t=10' });
  expect(take(null, '2001:db8::2')).toMatchObject({ code: 'rate_limited' });
  expect(take(null, '2001:db8:0:1::1')).toMatchObject({ ratelimit: '"address";r=0;t=10' });
});

test('0 is no limit', () => {
  const { take } = start({ person: 0 });
  for (let count = 0; count < 10; count++) expect(take(caller('login', 'ada'))).toBeUndefined();
});

test('the headers can be left out while more than half is left', () => {
  const { take } = start({ token: 4 });
  const next = () => take(caller('pat', 'ada', 'one'), '', 'when_low');
  expect(next()).toBeUndefined();
  expect(next()).toMatchObject({ ratelimit: '"token";r=2;t=10' });
  expect(next()).toMatchObject({ ratelimit: '"token";r=1;t=10' });
});

test('processes of one server tell each other what they have counted', async () => {
  const sent = Promise.withResolvers<Counts>();
  const receivers: ((counts: Counts) => void)[] = [];
  const exchange = {
    send: sent.resolve,
    onReceive: (receive: (counts: Counts) => void) => void receivers.push(receive),
  };
  const limits = { person: 3, token: 2, address: 1 };
  const [one, other] = [createCallerLimit(limits, { exchange }), createCallerLimit(limits, { exchange })];
  const take = (limit: typeof one) => limit(caller('login', 'ada'), () => '', 'always');
  take(one);
  take(one);
  const counts = await sent.promise;
  expect(counts).toEqual({ ada: 2 });
  receivers[1]?.(counts);
  expect(take(other)).toMatchObject({ ratelimit: expect.stringContaining('"person";r=0;') });
  expect(() => take(other)).toThrow(Failure);
});

test('processes count together what is limited by the minute, apart from requests', async () => {
  const receivers: ((counts: Counts) => void)[] = [];
  const sent = Promise.withResolvers<Counts>();
  const exchange = {
    send: sent.resolve,
    onReceive: (receive: (counts: Counts) => void) => void receivers.push(receive),
  };
  const shared = { exchange, name: 'conflicts' };
  const now = () => new Date();
  const [one, other] = [createCallCounter(now, shared), createCallCounter(now, shared)];
  const requests = createCallerLimit({ person: 1, token: 1, address: 1 }, { exchange });
  one.add('ada');
  one.add('ada');
  for (const receive of receivers.slice(1)) receive(await sent.promise);
  expect(() => other.require('ada', 2)).toThrow(Failure);
  other.require('ada', 3);
  other.require('bob', 1);
  expect(requests(caller('login', 'ada'), () => '', 'always')).toMatchObject({
    ratelimit: expect.stringContaining('r=0'),
  });
});
