import { expect, test } from 'bun:test';
import { Domain } from '@svc/contract/domains.shapes.ts';
import { answerOf } from '../../testing/answers.ts';
import { useFakeServer } from '../../testing/fake-server.ts';

const server = useFakeServer();
const id = '01977777-7777-7777-8777-777777777777';
const hosts = { host: 'xn--bcher-kva.example', host_unicode: 'bücher.example' };
const right = { state: 'ok', reason: null, expected: '', found: [], next_step: '' };
const domain = {
  ...(answerOf({ shape: { answer: Domain } }) as object),
  ...hosts,
  id,
  status: 'active',
  disconnected_for: null,
  ownership: right,
  routing: right,
  certificate: right,
};

function run(...args: string[]) {
  return server.svc(['apps', 'domains', ...args, '--app', 'pet-shop']);
}

function answer(body: unknown, status = 200): void {
  server.intercept = (_, { path }) =>
    path.includes('/domains') ? Response.json(body, { status }) : undefined;
}

test.each([
  ['remove', '--execute'],
  ['remove', '--dry-run'],
  ['verify', '--wait'],
] as const)('a host instead of an id is a usage error, not a missing domain: %s %s', async (verb, flag) => {
  const ran = await run(verb, 'www.example.com', flag);
  expect(ran.exit).toBe(2);
  expect(ran.err).toContain('takes an id, not a host; svc apps domains list shows it.');
  expect(server.seen.filter(({ path }) => path.includes('/domains'))).toEqual([]);
});

test('a list shows hosts in Unicode and in Punycode', async () => {
  const plain = { ...domain, host: 'www.example.com', host_unicode: 'www.example.com' };
  answer({ items: [domain, plain], page: 1, per_page: 50, total: 2 });
  const { out } = await run('list');
  expect(out).toMatch(/ID +HOST +STATUS/);
  expect(out).toContain('bücher.example (xn--bcher-kva.example)');
  expect(out).toMatch(/ www\.example\.com +active/);
});

test('an added domain is shown in Unicode if the terminal supports it', async () => {
  answer(domain, 201);
  const ran = await run('add', 'bücher.example', '--execute');
  expect(ran.exit).toBe(0);
  expect(ran.out).toContain('✓ ownership');
});

test('the error for a missing domain names the list command', async () => {
  const problem = { type: 'x', title: 'x', status: 404, detail: 'x', code: 'not_found', request_id: 'r' };
  answer(problem, 404);
  const ran = await run('remove', id, '--execute');
  expect(ran.exit).toBe(5);
  expect(ran.err).toContain('svc apps domains list --app pet-shop');
});
