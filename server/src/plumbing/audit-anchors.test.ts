import { afterAll, expect, test } from 'bun:test';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { keepAnchors, readAnchors } from './audit-anchors.ts';

const folder = mkdtempSync(join(tmpdir(), 'svc-anchors-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('the newest head of each tenant is kept, however many changes there are, and the file stays short', () => {
  const file = join(folder, 'many.jsonl');
  const keep = keepAnchors(file);
  for (let seq = 1; seq <= 2_500; seq++)
    for (const tenantId of ['a', 'b']) keep({ tenantId, seq, hash: `h${seq}` });
  const newest = new Map(readAnchors(file).map((anchor) => [anchor.tenantId, anchor.seq]));
  expect([...newest]).toEqual([
    ['a', 2_500],
    ['b', 2_500],
  ]);
  expect(readFileSync(file, 'utf8').split('\n').length).toBeLessThan(1_100);
});

test('a last line that a crash cut short is passed over, and the rest still counts', () => {
  const file = join(folder, 'cut.jsonl');
  writeFileSync(file, '{"tenantId":"a","seq":1,"hash":"x"}\n{"tenantId":"a","se');
  keepAnchors(file)({ tenantId: 'a', seq: 2, hash: 'y' });
  expect(readAnchors(file).map(({ seq }) => seq)).toEqual([1, 2]);
});
