import { expect, test } from 'bun:test';
import { createClient } from './client.ts';
import { problem, type Seen, scriptedServer } from './testing.ts';

const server = scriptedServer();
const newClient = () =>
  createClient({
    baseUrl: server.baseUrl,
    tenant: 'acme',
    app: 'lunch',
    auth: { apiKey: 'k' },
    retriesMax: 0,
  });
const asked = ({ query }: Seen) => query[0]![1].split(',');
const answer = (seen: Seen) =>
  Response.json({ data: asked(seen).map((id) => ({ id, name: `name of ${id}`, email: null })) });

test('calls of the same moment share a request, and names are cached', async () => {
  server.answerWith(answer);
  const { people } = newClient();
  const [one, two] = await Promise.all([people(['a', 'b', null]), people(['B', 'c', undefined])]);
  expect([[...one.keys()], [...two.keys()]]).toEqual([
    ['a', 'b'],
    ['b', 'c'],
  ]);
  expect((await people(['a', 'c'])).get('c')?.name).toBe('name of c');
  expect(server.seen.map(({ path }) => path)).toEqual(['/data/acme/lunch/_people']);
  expect(asked(server.seen[0]!)).toEqual(['a', 'b', 'c']);
  expect((await people([])).size).toBe(0);
});

test('a request has at most 100 ids', async () => {
  server.answerWith(answer);
  const ids = Array.from({ length: 250 }, (_, at) => `p${at}`);
  expect((await newClient().people(ids)).size).toBe(250);
  const lengths = server.seen.map((seen) => asked(seen).length);
  expect(lengths.sort((one, other) => other - one)).toEqual([100, 100, 50]);
});

test('somebody whom the caller may not know is absent, and a failure is not cached', async () => {
  const { people } = newClient();
  server.answerWith(() => problem(500, 'internal'));
  expect(await people(['a']).catch(({ code }) => code)).toBe('internal');
  server.answerWith(() => Response.json({ data: [] }));
  expect((await people(['a'])).has('a')).toBe(false);
});
