import { describe, expect, test } from 'bun:test';
import { problem } from '../../testing/answers.ts';
import { useFakeServer } from '../../testing/fake-server.ts';
import { folderWith, type RunOptions } from '../../testing/run-svc.ts';

const server = useFakeServer();
const unset = (...flags: string[]) => server.svc(['env', 'unset', 'NOPE', '--app', 'shop', ...flags]);
const set = (...flags: string[]) => server.svc(['env', 'set', 'A=1', '--app', 'shop', ...flags]);

test('svc env set reports that the next deployment uses the variables, only after a change', async () => {
  const isReported = async (answer: Response | undefined, ...flags: string[]) => {
    server.intercept = (_, { path }) => (path.endsWith('/env') ? answer : undefined);
    return (await set(...flags)).err.includes('with the next deployment');
  };
  expect(await isReported(Response.json({ items: [] }), '--execute')).toBe(true);
  expect(await isReported(Response.json({ items: [], changed: false }), '--execute')).toBe(false);
  expect(await isReported(problem('forbidden'), '--execute')).toBe(false);
  expect(await isReported(undefined)).toBe(false);
});

test('svc env unset reports whether anything has changed', async () => {
  const output = async (answer: Response | undefined, ...flags: string[]) => {
    server.intercept = (_, { path }) => (path.endsWith('/env') ? answer : undefined);
    const { exit, err } = await unset(...flags);
    return [exit, err];
  };
  expect(await output(Response.json({ items: [] }), '--execute')).toEqual([
    0,
    expect.stringContaining('with the next deployment'),
  ]);
  expect(await output(Response.json({ items: [], changed: false }), '--execute')).toEqual([
    0,
    expect.stringContaining('Nothing has changed'),
  ]);
  expect(await output(undefined)).toEqual([0, '']);
});

async function setValues(args: string[], options: RunOptions = {}) {
  server.seen = [];
  const ran = await server.svc(['env', 'set', ...args, '--app', 'shop'], options);
  return { ...ran, sent: JSON.parse(server.seen[0]?.body || '{}').set };
}

describe('svc env set', () => {
  test('prefers typed values, with any characters, to those of a file', async () => {
    const file = `${folderWith({ '.env': 'A=file\nB="two\\nlines"\n# C=no\nexport D=d\nPORT=1\n' })}/.env`;
    const { exit, err, sent } = await setValues(['A=a=b c', 'E=', '--from-file', file]);
    expect([exit, sent]).toEqual([0, { A: 'a=b c', B: 'two\nlines', D: 'd', E: '' }]);
    expect(err).toContain('PORT');
  });

  test('reads a value from standard input, without the final line break', async () => {
    expect((await setValues(['--stdin', 'KEY'], { input: 'a\nb\n' })).sent).toEqual({ KEY: 'a\nb' });
  });

  test.each([[['justasecret']], [['=justasecret']], [['1A=justasecret']], [['PORT=justasecret']], [[]]])(
    'refuses %j before any request, and repeats no value',
    async (args) => {
      const { exit, err, out } = await setValues(args);
      expect([exit, server.seen, (err + out).includes('justasecret')]).toEqual([2, [], false]);
    },
  );

  test('shows the line to execute without the values', async () => {
    const { out, err } = await setValues(['A=justasecret', 'B=also secret']);
    expect(out).toContain('--execute');
    expect(out).toContain('A=…');
    for (const value of ['justasecret', 'also secret']) expect((out + err).includes(value)).toBe(false);
  });
});
