import { expect, test } from 'bun:test';
import { createServer } from 'node:net';
import { Domain } from '@svc/contract/domains.shapes.ts';
import { patientMs } from '../../../scripts/patience.ts';
import { answerOf } from '../../testing/answers.ts';
import { useFakeServer } from '../../testing/fake-server.ts';
import type { DomainRecord } from './domain-text.ts';

const server = useFakeServer();
const id = '01977777-7777-7777-8777-777777777777';

function verify(args: string[], url = server.url) {
  const env = { SVC_BASE_URL: url };
  return server.svc(['apps', 'domains', 'verify', id, '--app', 'pet-shop', ...args], { env });
}

function domain(status: DomainRecord['status']): DomainRecord {
  const made = answerOf({ shape: { answer: Domain } }) as DomainRecord;
  const missing: Omit<DomainRecord['ownership'], 'expected'> = {
    state: 'failed',
    reason: 'missing',
    found: [],
    next_step: 'Publish it.',
  };
  const right: DomainRecord['ownership'] = {
    state: 'ok',
    reason: null,
    found: [],
    next_step: '',
    expected: '',
  };
  return {
    ...made,
    status,
    host: 'xn--bcher-kva.example',
    host_unicode: 'bücher.example',
    ownership: status === 'active' ? right : { ...missing, expected: 'TXT _svc-challenge.x "svc-verify=1"' },
    routing: right,
    certificate: { ...right, reason: 'not_configured' },
    records: [{ type: 'TXT', name: '_svc-challenge.x', value: 'svc-verify=1', purpose: 'ownership' }],
    disconnected_for: status === 'disconnected' ? 'not_verified' : null,
  };
}

/** Answers in this order, repeating the last; returns the requested paths. */
function answers(...list: (DomainRecord['status'] | number)[]): string[] {
  const asked: string[] = [];
  server.intercept = (_, { method, path }) => {
    if (!path.includes('/domains/')) return undefined;
    asked.push(method);
    const next = list.length > 1 ? list.shift() : list[0];
    if (typeof next !== 'number') return Response.json(domain(next ?? 'pending'));
    const problem = {
      type: 'x',
      title: 'x',
      status: next,
      detail: 'x',
      code: 'unavailable',
      request_id: 'r',
    };
    return Response.json(problem, { status: next });
  };
  return asked;
}

const lastLine = (err: string) => JSON.parse(err.trimEnd().split('\n').at(-1) ?? '');

test('a pending domain is explained, and is not an error', async () => {
  answers('pending');
  const ran = await verify([]);
  expect(ran.exit).toBe(0);
  expect(ran.out).toContain('bücher.example (xn--bcher-kva.example) is pending');
  expect(ran.out).toMatch(/TXT {2,}_svc-challenge\.x {2,}svc-verify=1/);
  expect(ran.out).toMatch(
    /✗ ownership {4}failed \(missing\)\n {4}expected {2}TXT .*\n {4}found {5}nothing\n/,
  );
  expect(ran.out).toContain('next      Publish it.');
  expect(ran.out).toMatch(/✓ routing {6}ok\n/);
  expect(ran.out).toContain('certificate  not managed here (HTTPS is provided by the proxy in front)');
});

test('--wait repeats the check until the domain is active', async () => {
  const asked = answers('pending', 'pending', 'pending', 'active');
  const ran = await verify(['--wait', '--json', '--timeout', '30s']);
  expect([ran.exit, JSON.parse(ran.out).status]).toEqual([0, 'active']);
  expect(asked).toEqual(['POST', 'GET', 'POST', 'GET']);
  expect(ran.err).toContain('Waiting for ownership (missing).');
});

test('a transient error does not end the wait', async () => {
  answers('pending', 503, 503, 'active');
  expect((await verify(['--wait', '--timeout', '30s'])).exit).toBe(0);
});

test('a transient error of the first request does not end the wait', async () => {
  const asked = answers(503, 429, 'pending', 'active');
  expect((await verify(['--wait', '--timeout', '30s'])).exit).toBe(0);
  expect(asked).toEqual(['POST', 'POST', 'POST', 'GET']);
});

test('a wait with transient errors only exits with 10', async () => {
  answers(503);
  const ran = await verify(['--wait', '--json', '--timeout', '300ms']);
  expect([ran.exit, JSON.parse(ran.err).code]).toEqual([10, 'wait_timeout']);
});

test('a domain that is disconnected meanwhile ends the wait with 9, and is not restarted', async () => {
  const asked = answers('pending', 'disconnected');
  const ran = await verify(['--wait', '--json', '--timeout', '30s']);
  expect([ran.exit, JSON.parse(ran.out).status]).toEqual([9, 'disconnected']);
  expect(lastLine(ran.err)).toMatchObject({
    code: 'disconnected',
    next: { why: expect.stringContaining(id) },
  });
  expect(asked).toEqual(['POST', 'GET']);
});

test('a wait that times out exits with 10 and prints the last status', async () => {
  answers('pending');
  const ran = await verify(['--wait', '--json', '--timeout', `${patientMs(200)}ms`]);
  expect([ran.exit, JSON.parse(ran.out).status]).toEqual([10, 'pending']);
  expect(lastLine(ran.err)).toMatchObject({
    code: 'wait_timeout',
    next: { argv: [], why: expect.stringContaining('--timeout') },
  });
});

test('a server that never responds: exit 10, in time', async () => {
  const deaf = createServer(() => {});
  await new Promise<void>((resolve) => deaf.listen(0, '127.0.0.1', resolve));
  const address = deaf.address();
  const port = typeof address === 'object' ? address?.port : 0;
  const begun = performance.now();
  const ran = await verify(['--wait', '--json', '--timeout', '400ms'], `http://127.0.0.1:${port}`);
  expect([ran.exit, ran.out, JSON.parse(ran.err).code]).toEqual([10, '', 'wait_timeout']);
  expect(performance.now() - begun).toBeLessThan(patientMs(5_000));
  deaf.close();
});

test('a server that stops responding: exit 10, with the last status', async () => {
  let asked = 0;
  server.intercept = (_, { path }) => {
    if (!path.includes('/domains/')) return undefined;
    return asked++ === 0 ? Response.json(domain('pending')) : new Promise(() => {});
  };
  const ran = await verify(['--wait', '--json', '--timeout', '2s']);
  expect([ran.exit, JSON.parse(ran.out).status]).toEqual([10, 'pending']);
});

test('without a server the command exits with 12 at once', async () => {
  expect((await verify(['--wait', '--timeout', '5s'], 'http://127.0.0.1:1')).exit).toBe(12);
});
