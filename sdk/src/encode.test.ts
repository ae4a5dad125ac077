import { expect, test } from 'bun:test';
import { isRowSegment, rowPath, rowSegment } from '@svc/contract/row-path.ts';
import fc from 'fast-check';
import { createClient } from './client.ts';
import { toPathStep } from './encode.ts';
import { scriptedServer } from './testing.ts';

const server = scriptedServer();

test('an id is encoded like in other programs', () => {
  const id = fc.string({ unit: 'grapheme' }).filter(isRowSegment);
  fc.assert(fc.property(id, (text) => expect(toPathStep(text)).toBe(rowSegment(text))));
  for (const text of ['_count', '__', '_', 'a_', 'a/b', '%5Fcount', '...', 'é ?#'])
    expect(toPathStep(text)).toBe(rowSegment(text));
});

test('an id that does not fit into a URL is rejected', () => {
  for (const text of ['', '.', '..']) {
    expect(isRowSegment(text)).toBe(false);
    expect(() => toPathStep(text)).toThrow(TypeError);
  }
});

test('a row has the URL of the contract', async () => {
  server.answerWith(() => Response.json({}, { headers: { etag: '"1"' } }));
  const { baseUrl } = server;
  await createClient({ baseUrl, tenant: 'acme', app: 'todo', auth: { apiKey: 'k' } })
    .table('todos')
    .get('_count');
  expect(server.seen[0]?.path).toBe(rowPath('acme', 'todo', 'todos', '_count'));
});
