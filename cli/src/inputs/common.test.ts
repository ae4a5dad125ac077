import { expect, test } from 'bun:test';
import { useFakeServer } from '../../testing/fake-server.ts';
import { commandWords, svc } from '../registry.ts';

const server = useFakeServer();

const updates = commandWords.filter((words) => words.endsWith(' update'));

test.each(updates)(
  'svc %s without a field is a usage error, also with --execute and --plan',
  async (words) => {
    const { positionals = [], flags = {} } = await svc.load(words);
    const line = [
      ...words.split(' '),
      ...positionals.map(() => 'x'),
      // The app of a connector is one of its fields.
      ...('app' in flags && words !== 'connectors update' ? ['--app', 'a'] : []),
    ];
    for (const more of [[], ['--execute'], ['--dry-run'], ['--execute', '--plan', 'f1']]) {
      const ran = await server.svc([...line, ...more]);
      expect([more, ran.exit, server.seen]).toEqual([more, 2, []]);
      expect(ran.err).toMatch(/^Error: (Give |--(description|branch) is required)/);
    }
  },
);

test('a false boolean is no field for svc apps update, and one for svc policies update', async () => {
  const app = await server.svc(['apps', 'update', 'shop', '--clear-category=false', '--execute']);
  expect([app.exit, app.err]).toEqual([2, expect.stringContaining('Give at least one field to update.')]);
  expect((await server.svc(['policies', 'update', 'p', '--enabled=false'])).exit).toBe(0);
});
