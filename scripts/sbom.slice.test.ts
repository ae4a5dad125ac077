import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dir, '..');
const readJson = (path: string) => JSON.parse(readFileSync(join(root, path), 'utf8'));

test('the bill of materials lists every direct dependency in its pinned version', () => {
  const run = Bun.spawnSync(['npm', 'run', '--silent', 'sbom'], { cwd: root, stderr: 'pipe' });
  expect([run.exitCode, run.exitCode === 0 ? '' : run.stderr.toString()]).toEqual([0, '']);
  const bill = JSON.parse(run.stdout.toString()) as { bomFormat: string; components: { purl: string }[] };
  expect(bill.bomFormat).toBe('CycloneDX');
  const listed = new Set(bill.components.map(({ purl }) => purl));
  const { workspaces } = readJson('package.json') as { workspaces: string[] };
  const direct = ['.', ...workspaces].flatMap((folder) => {
    const { dependencies = {}, devDependencies = {} } = readJson(join(folder, 'package.json'));
    return Object.entries<string>({ ...dependencies, ...devDependencies });
  });
  const external = direct.filter(([name]) => !name.startsWith('@svc/'));
  expect(external.length).toBeGreaterThan(20);
  for (const [name, version] of external) {
    expect([name, version]).toEqual([name, expect.stringMatching(/^\d+\.\d+\.\d+(?:[-+].*)?$/)]);
    const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`;
    expect([purl, listed.has(purl)]).toEqual([purl, true]);
  }
});
