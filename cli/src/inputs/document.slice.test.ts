import { describe, expect, test } from 'bun:test';
import { symlinkSync } from 'node:fs';
import { useFakeServer } from '../../testing/fake-server.ts';
import { folderWith, newFolder } from '../../testing/run-svc.ts';

const server = useFakeServer();

const creators = [
  ['policies', 'create'],
  ['apps', 'create'],
];

async function created(words: readonly string[], text: string) {
  const path = `${folderWith({ 'input.yaml': text })}/input.yaml`;
  const file = await server.svc([...words, '--from-file', path]);
  const piped = await server.svc([...words, '--from-file', '-'], { input: text });
  expect([file.exit, piped.err.replaceAll('Standard input', path)]).toEqual([piped.exit, file.err]);
  return file;
}

const bomb = Array.from({ length: 8 }, (_, at) =>
  at === 0 ? 'a0: &a0 [x, x, x, x, x, x, x, x, x, x]' : `a${at}: &a${at} [${Array(10).fill(`*a${at - 1}`)}]`,
).join('\n');

describe.each(creators)('svc %s %s --from-file', (...words) => {
  test.each([
    ['a bomb of aliases', bomb, 'grows too large by its aliases'],
    ['an alias of itself', 'name: &a [*a]\n', 'contains itself through an alias'],
    ['an alias of nothing', 'name: *b\n', 'the alias *b stands for nothing before it'],
    ['two documents', 'name: a\n---\nname: b\n', 'contains more than one document'],
    ['very deep lists', '['.repeat(20_000), 'is nested too deeply'],
    ['very deep keys', `${'? '.repeat(500)}x\n`, 'a key must be a text'],
    ['far too much', `name: ${'x'.repeat(1024 * 1024)}\n`, 'is larger than 1024 KiB'],
  ])('rejects %s as a usage error before any request', async (_, text, message) => {
    const ran = await created(words, text);
    expect([ran.exit, ran.out, server.seen]).toEqual([2, '', []]);
    expect(ran.err).toContain(message);
    expect(ran.err).not.toMatch(/YAML\.|call stack|bug/);
  });

  test.if(process.platform === 'linux')('does not wait for what is not a regular file', async () => {
    const folder = newFolder();
    symlinkSync('/dev/zero', `${folder}/zero`);
    Bun.spawnSync(['mkfifo', `${folder}/pipe`]);
    for (const name of ['zero', 'pipe']) {
      const ran = await server.svc([...words, '--from-file', `${folder}/${name}`]);
      expect([ran.exit, ran.err]).toEqual([2, expect.stringContaining(`${name} is not a regular file.`)]);
    }
    expect((await server.svc([...words, '--from-file', folder])).err).toContain('is a folder');
  });
});

test('svc rows insert does not read files that are not regular either', async () => {
  const ran = await server.svc(['rows', 'insert', 'pets', '--app', 'a', '--from-file', '/dev/zero']);
  expect([ran.exit, ran.err]).toEqual([2, expect.stringContaining('/dev/zero is not a regular file.')]);
});
