import { afterAll, afterEach, expect, test } from 'bun:test';
import { problem } from '../../testing/fake-problem.ts';
import { startFakeServer } from '../../testing/fake-server.ts';
import { newFolder, removeFolders, runSvc } from '../../testing/run-svc.ts';

const server = startFakeServer();
server.oauth.tokens.add('good');
afterEach(() => {
  server.intercept = undefined;
});
afterAll(() => server.stop());
afterAll(removeFolders);

const env = { SVC_BASE_URL: server.url, SVC_TOKEN: 'good', SVC_TENANT: 'demo', SVC_CONFIG_DIR: newFolder() };
const unset = (...flags: string[]) =>
  runSvc(['env', 'unset', 'NOPE', '--app', 'shop', ...flags], { env, cwd: newFolder() });
const set = (...flags: string[]) =>
  runSvc(['env', 'set', 'A=1', '--app', 'shop', ...flags], { env, cwd: newFolder() });

test('that variables count from the next deployment on is said after a change, and only then', async () => {
  const told = async (answer: Response | undefined, ...flags: string[]) => {
    server.intercept = (_, { path }) => (path.endsWith('/env') ? answer : undefined);
    return (await set(...flags)).err.includes('from the next deployment on');
  };
  expect(await told(Response.json({ items: [] }), '--execute')).toBe(true);
  expect(await told(Response.json({ items: [], changed: false }), '--execute')).toBe(false);
  expect(await told(problem('forbidden'), '--execute')).toBe(false);
  expect(await told(undefined)).toBe(false);
});

test('svc env unset says whether anything has changed', async () => {
  const told = async (answer: Response | undefined, ...flags: string[]) => {
    server.intercept = (_, { path }) => (path.endsWith('/env') ? answer : undefined);
    const { exit, err } = await unset(...flags);
    return [exit, err];
  };
  expect(await told(Response.json({ items: [] }), '--execute')).toEqual([
    0,
    expect.stringContaining('from the next deployment on'),
  ]);
  expect(await told(Response.json({ items: [], changed: false }), '--execute')).toEqual([
    0,
    expect.stringContaining('Nothing changed'),
  ]);
  expect(await told(undefined)).toEqual([0, '']);
});
