import { expect, test } from 'bun:test';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from './run-tests.ts';

const packages = ['contract', 'server', 'cli', 'sdk', 'console'];

interface Example {
  path: string;
  kind: 'added' | 'added to the table' | 'new file';
  /** The name of the table. */
  table: string;
  code: string;
}

/** Code blocks of CONTRIBUTING.md; the comment on their first line names a file and how the code belongs into it. */
function examples(): Example[] {
  const text = readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8');
  return [...text.matchAll(/^( *)```tsx?\n([\s\S]*?)^ *```$/gm)].map(([, indent = '', block = '']) => {
    const lines = block.split('\n').map((line) => line.slice(indent.length));
    const [, path, kind, table = ''] =
      /^\/\/ (\S+) \((added|added to the table|new file)(?: `(\w+)`)?\)$/.exec(lines[0] ?? '') ?? [];
    if (!path || !kind) throw new Error(`The first line of a code block names no file: ${lines[0]}`);
    return { path, kind: kind as Example['kind'], table, code: lines.slice(1).join('\n') };
  });
}

function insert(file: string, { kind, table, code }: Example): string {
  if (kind === 'new file') return code;
  if (kind === 'added') return `${file}\n${code}`;
  const isImport = (line: string) => line.startsWith('import ');
  const lines = code.split('\n');
  const end = file.indexOf('});', file.search(new RegExp(`const ${table}\\b`)));
  const entries = lines.filter((line) => !isImport(line)).join('\n');
  return `${lines.filter(isImport).join('\n')}\n${file.slice(0, end)}${entries}${file.slice(end)}`;
}

test('the examples of CONTRIBUTING.md compile in the project', async () => {
  // A copy of the sources: other tests read the real ones at the same time.
  const folder = mkdtempSync(join(tmpdir(), 'svc-contributing-'));
  try {
    for (const name of packages) {
      cpSync(join(root, name, 'src'), join(folder, name, 'src'), { recursive: true });
      cpSync(join(root, name, 'package.json'), join(folder, name, 'package.json'));
    }
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
    const found = examples();
    expect(found.length).toBeGreaterThanOrEqual(6);
    for (const example of found) {
      const path = join(folder, example.path);
      const before = example.kind === 'new file' ? '' : readFileSync(path, 'utf8');
      writeFileSync(path, insert(before, example));
    }
    const { compilerOptions } = JSON.parse(readFileSync(join(root, 'tsconfig.json'), 'utf8'));
    const config = {
      // Packages resolve to the copy, not to the real sources behind `node_modules`.
      compilerOptions: {
        ...compilerOptions,
        paths: Object.fromEntries(packages.map((name) => [`@svc/${name}/*`, [`./${name}/src/*`]])),
      },
      files: [...found.map(({ path }) => path), 'console/src/css.d.ts'],
    };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
    const tsc = Bun.spawn([join(root, 'node_modules/.bin/tsc'), '--noEmit', '--project', folder], {
      cwd: folder,
      stdout: 'pipe',
      stderr: 'pipe',
    });
    const [output, exitCode] = await Promise.all([new Response(tsc.stdout).text(), tsc.exited]);
    expect({ output, exitCode }).toEqual({ output: '', exitCode: 0 });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
