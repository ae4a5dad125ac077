import { afterAll, describe, expect, test } from 'bun:test';
import { startFakeServer } from '../../testing/fake-server.ts';
import { folderWith } from '../../testing/folder-with.ts';
import { newFolder, type RunOptions, removeFolders, runSvc } from '../../testing/run-svc.ts';

const server = startFakeServer();
server.oauth.tokens.add('good');
afterAll(() => server.stop());
afterAll(removeFolders);

async function set(args: string[], options: RunOptions = {}) {
  server.seen = [];
  const env = {
    SVC_BASE_URL: server.url,
    SVC_TOKEN: 'good',
    SVC_TENANT: 'demo',
    SVC_CONFIG_DIR: newFolder(),
  };
  const ran = await runSvc(['env', 'set', ...args, '--app', 'shop'], { cwd: newFolder(), ...options, env });
  return { ...ran, sent: JSON.parse(server.seen[0]?.body || '{}').set };
}

describe('svc env set', () => {
  test('takes what is typed, with all that a value may hold, before what a file says', async () => {
    const file = `${folderWith({ '.env': 'A=file\nB="two\\nlines"\n# C=no\nexport D=d\nPORT=1\n' })}/.env`;
    const { exit, err, sent } = await set(['A=a=b c', 'E=', '--from-file', file]);
    expect([exit, sent]).toEqual([0, { A: 'a=b c', B: 'two\nlines', D: 'd', E: '' }]);
    expect(err).toContain('PORT');
  });

  test('takes a value from standard input, without the line break at its end', async () => {
    expect((await set(['--stdin', 'KEY'], { input: 'a\nb\n' })).sent).toEqual({ KEY: 'a\nb' });
  });

  test.each([[['justasecret']], [['=justasecret']], [['1A=justasecret']], [['PORT=justasecret']], [[]]])(
    'refuses %j before any request, and repeats no value',
    async (args) => {
      const { exit, err, out } = await set(args);
      expect([exit, server.seen, (err + out).includes('justasecret')]).toEqual([2, [], false]);
    },
  );

  test('shows how to execute it without the values', async () => {
    const { out, err } = await set(['A=justasecret', 'B=also secret']);
    expect(out).toContain('--execute');
    expect(out).toContain('A=…');
    for (const value of ['justasecret', 'also secret']) expect((out + err).includes(value)).toBe(false);
  });
});
