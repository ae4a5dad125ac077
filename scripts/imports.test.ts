import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { Glob, Transpiler } from 'bun';

const root = join(import.meta.dir, '..');
const files = [...new Glob('{contract,server,cli,sdk,console}/src/**/*.{ts,tsx}').scanSync(root)].filter(
  (path) => !path.includes('node_modules'),
);
const production = files.filter(
  (path) => !/\.test\.tsx?$|\/(testing|conformance)\.ts$|\/testing\//.test(path),
);
/** By the extension: in a `.tsx` file, `<T>` before an arrow function would be an element. */
const transpilers = { ts: new Transpiler({ loader: 'ts' }), tsx: new Transpiler({ loader: 'tsx' }) };

interface Import {
  from: string;
  to: string;
}

/** Imports that exist when it runs; those of types alone are free. */
function importsOf(path: string): Import[] {
  const text = readFileSync(join(root, path), 'utf8');
  const transpiler = transpilers[path.endsWith('.tsx') ? 'tsx' : 'ts'];
  return transpiler.scanImports(text).map(({ path: to }) => ({
    from: path,
    to: to.startsWith('.') ? normalize(join(dirname(path), to)) : to,
  }));
}

const imports = production.flatMap(importsOf);
const within = (path: string, folder: string) => path.startsWith(`${folder}/`);
const sliceOf = (path: string) => /^server\/src\/([\w-]+)\//.exec(path)?.[1];
const notSlices = new Set(['plumbing', 'drivers', 'admin']);
const isStoreOrRoutes = (path: string) => /\/(store|routes)\.ts$/.test(path);
const broken = (rule: (item: Import) => boolean) =>
  imports.filter(rule).map(({ from, to }) => `${from} → ${relative('.', to)}`);

describe('imports go one way only', () => {
  test('the contract depends on zod and itself alone', () => {
    expect(
      broken(({ from, to }) => within(from, 'contract') && to !== 'zod' && !within(to, 'contract')),
    ).toEqual([]);
  });

  test('what the command line loads on every call never loads zod: endpoints stay free of schemas', () => {
    const plain = (path: string) =>
      within(path, 'contract') && !/\.shapes\.ts$|\/(shapes|all|openapi(-\w+)?)\.ts$/.test(path);
    expect(broken(({ from, to }) => plain(from) && (to === 'zod' || /shapes\.ts$/.test(to)))).toEqual([]);
  });

  test('command line, SDK and console know the contract, never the server', () => {
    const client = (path: string) => ['cli', 'sdk', 'console'].some((folder) => within(path, folder));
    expect(
      broken(({ from, to }) => client(from) && (within(to, 'server') || to.startsWith('@svc/server'))),
    ).toEqual([]);
  });

  test('plumbing knows no slice and no driver', () => {
    expect(
      broken(
        ({ from, to }) =>
          within(from, 'server/src/plumbing') && within(to, 'server') && !within(to, 'server/src/plumbing'),
      ),
    ).toEqual([]);
  });

  test('drivers know plumbing at most', () => {
    const allowed = (to: string) =>
      within(to, 'server/src/drivers') || within(to, 'server/src/plumbing') || !within(to, 'server');
    expect(broken(({ from, to }) => within(from, 'server/src/drivers') && !allowed(to))).toEqual([]);
  });

  test("no slice reaches into another's store or routes", () => {
    expect(
      broken(({ from, to }) => {
        const [one, other] = [sliceOf(from), sliceOf(to)];
        return (
          one !== undefined &&
          other !== undefined &&
          one !== other &&
          !notSlices.has(other) &&
          isStoreOrRoutes(to)
        );
      }),
    ).toEqual([]);
  });

  test('rules are pure: they reach neither a store nor a verb', () => {
    expect(
      broken(
        ({ from, to }) =>
          /\/rules\.ts$/.test(from) && within(to, 'server') && !/\/(rules|plumbing\/[\w-]+)\.ts$/.test(to),
      ),
    ).toEqual([]);
  });

  test('only the two entry points read the environment', () => {
    const readers = production.filter(
      (path) =>
        within(path, 'server') &&
        !/server\/src\/(main|admin)\.ts$/.test(path) &&
        /process\.env|Bun\.env/.test(readFileSync(join(root, path), 'utf8')),
    );
    expect(readers).toEqual([]);
  });

  test('there are no cycles', () => {
    const graph = Map.groupBy(imports, ({ from }) => from);
    const done = new Set<string>();
    const cycles: string[] = [];
    const visit = (path: string, trail: readonly string[]): void => {
      if (trail.includes(path)) cycles.push([...trail.slice(trail.indexOf(path)), path].join(' → '));
      if (done.has(path) || trail.includes(path)) return;
      for (const { to } of graph.get(path) ?? []) visit(to, [...trail, path]);
      done.add(path);
    };
    for (const path of production) visit(path, []);
    expect(cycles).toEqual([]);
  });
});

test('no file is past 500 lines', () => {
  const long = [...files, ...new Glob('{acceptance,scripts,bench}/**/*.ts').scanSync(root)]
    .filter((path) => !path.includes('node_modules'))
    .map((path) => ({ path, lines: readFileSync(join(root, path), 'utf8').split('\n').length }))
    .filter(({ lines }) => lines > 500);
  expect(long).toEqual([]);
});
