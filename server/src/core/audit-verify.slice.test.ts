import { expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { useFolder } from '../../../scripts/use-fixture.ts';
import { createAnchorWriter, readAnchors } from './audit-verify.ts';

const folder = useFolder();

test('the anchors file has the newest head of each tenant and stays short', () => {
  const file = join(folder, 'many.jsonl');
  const write = createAnchorWriter(file);
  for (let seq = 1; seq <= 2_500; seq++)
    for (const tenantId of ['a', 'b']) write({ tenantId, seq, hash: `h${seq}` });
  const newest = new Map(readAnchors(file).map((anchor) => [anchor.tenantId, anchor.seq]));
  expect([...newest]).toEqual([
    ['a', 2_500],
    ['b', 2_500],
  ]);
  expect(readFileSync(file, 'utf8').split('\n').length).toBeLessThan(1_100);
});

test('a last line that a crash cut short is skipped', () => {
  const file = join(folder, 'cut.jsonl');
  writeFileSync(file, '{"tenantId":"a","seq":1,"hash":"x"}\n{"tenantId":"a","se');
  createAnchorWriter(file)({ tenantId: 'a', seq: 2, hash: 'y' });
  expect(readAnchors(file).map(({ seq }) => seq)).toEqual([1, 2]);
});
