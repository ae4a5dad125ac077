import { afterAll, beforeEach, expect, test } from 'bun:test';
import { startFakeServer } from '../../testing/fake-server.ts';
import { newFolder, removeFolders, runSvc } from '../../testing/run-svc.ts';
import { commandWords, loadCommand } from '../registry.ts';

afterAll(removeFolders);

const server = startFakeServer();
server.oauth.tokens.add('good');
afterAll(() => server.stop());
beforeEach(() => {
  server.seen = [];
});

const env = { SVC_BASE_URL: server.url, SVC_TOKEN: 'good', SVC_TENANT: 'demo', SVC_CONFIG_DIR: newFolder() };
const updates = commandWords.filter((words) => words.endsWith(' update'));

test.each(updates)(
  'svc %s without a field is a usage error, also with --execute and --plan',
  async (words) => {
    const { positionals = [], flags = {} } = await loadCommand(words);
    const line = [
      ...words.split(' '),
      ...positionals.map(() => 'x'),
      ...('app' in flags ? ['--app', 'a'] : []),
    ];
    for (const more of [[], ['--execute'], ['--dry-run'], ['--execute', '--plan', 'f1']]) {
      const ran = await runSvc([...line, ...more], { env });
      expect([more, ran.exit, server.seen]).toEqual([more, 2, []]);
      expect(ran.err).toMatch(/^Error: (Give |--(description|branch) must be given)/);
    }
  },
);

test('svc apps update takes a no to clearing for nothing, and svc policies update a no for a field', async () => {
  const app = await runSvc(['apps', 'update', 'shop', '--clear-category=false', '--execute'], { env });
  expect([app.exit, app.err]).toEqual([2, expect.stringContaining('Give at least one field to change.')]);
  expect((await runSvc(['policies', 'update', 'p', '--enabled=false'], { env })).exit).toBe(0);
});
