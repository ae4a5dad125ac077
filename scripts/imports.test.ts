import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { Glob } from 'bun';

/** Modules of the server, in order: each imports only modules before it. */
const modules = [
  'core',
  'http',
  'drivers',
  'people',
  'access',
  'apps',
  'identity',
  'data',
  'delivery',
  'edge',
];
/** Programs beside `main.ts` and what they read the environment with: they may import every module. */
const programs = ['admin', 'config', 'supervisor'];

const root = join(import.meta.dir, '..');
const files = [...new Glob('{contract,server,cli,sdk,console}/src/**/*.{ts,tsx}').scanSync(root)].filter(
  (path) => !path.includes('node_modules'),
);
const allCode = [...files, ...new Glob('{acceptance,scripts,bench}/**/*.ts').scanSync(root)].filter(
  (path) => !path.includes('node_modules'),
);
const isTest = (path: string) =>
  /^acceptance\/suites\/|\.(test|proof)\.tsx?$|\/testing\.ts$|-(testing|fixture)\.ts$|\/testing\//.test(path);
const production = files.filter((path) => !isTest(path));
const textOf = (path: string) => readFileSync(join(root, path), 'utf8');

interface Import {
  from: string;
  to: string;
  isType: boolean;
}

const packages: Record<string, string> = {
  '@svc/contract': 'contract/src',
  '@svc/sdk': 'sdk/src',
  '@svc/cli': 'cli/src',
};

function resolve(from: string, specifier: string): string {
  if (specifier.startsWith('.')) return normalize(join(dirname(from), specifier));
  const own = Object.keys(packages).find((name) => specifier.startsWith(`${name}/`));
  return own ? `${packages[own]}${specifier.slice(own.length)}` : specifier;
}

const imports: Import[] = production.flatMap((from) =>
  [
    ...textOf(from).matchAll(/^(?:import|export)( type)? (?:[^'";]*? from )?'([^']+)'|import\('([^']+)'\)/gm),
  ].map(([, type, specifier, dynamic]) => ({
    from,
    to: resolve(from, specifier ?? dynamic ?? ''),
    isType: type !== undefined,
  })),
);
const within = (path: string, folder: string) => path.startsWith(`${folder}/`);
const matching = (rule: (item: Import) => boolean) =>
  imports.filter(rule).map(({ from, to }) => `${from} → ${to}`);

const moduleOf = (path: string) => /^server\/src\/([\w-]+)\//.exec(path)?.[1];
/** A folder of a module, such as `delivery/review`, or a file beside the folders, such as `people/person-events.ts`. */
const sliceOf = (path: string) =>
  /\/(?:module|routes)\.ts$/.test(path) && path.split('/').length === 4
    ? undefined
    : /^server\/src\/([\w-]+\/[\w.-]+)/.exec(path)?.[1];

/** Cycles of a graph, each as a path that ends where it starts. */
function cyclesIn(edges: readonly { from: string; to: string }[]): string[] {
  const graph = Map.groupBy(edges, ({ from }) => from);
  const done = new Set<string>();
  const cycles: string[] = [];
  const visit = (node: string, trail: readonly string[]): void => {
    if (trail.includes(node)) cycles.push([...trail.slice(trail.indexOf(node)), node].join(' → '));
    if (done.has(node) || trail.includes(node)) return;
    for (const { to } of graph.get(node) ?? []) visit(to, [...trail, node]);
    done.add(node);
  };
  for (const node of graph.keys()) visit(node, []);
  return cycles;
}

describe('packages', () => {
  test('the contract depends on zod, yaml and itself alone', () => {
    const libraries = ['zod', 'yaml'];
    expect(
      matching(
        ({ from, to }) => within(from, 'contract') && !libraries.includes(to) && !within(to, 'contract'),
      ),
    ).toEqual([]);
  });

  test('endpoints stay free of schemas, so that the command line never loads zod', () => {
    const isPlain = (path: string) =>
      within(path, 'contract') && !/\.shapes\.ts$|\/(shapes|all|openapi(-\w+)?)\.ts$/.test(path);
    expect(
      matching(
        ({ from, to, isType }) => !isType && isPlain(from) && (to === 'zod' || /shapes\.ts$/.test(to)),
      ),
    ).toEqual([]);
  });

  test('the SDK imports the contract; command line and console import contract and SDK; none the server', () => {
    const allowed: Record<string, string[]> = {
      sdk: ['sdk', 'contract'],
      cli: ['cli', 'sdk', 'contract'],
      console: ['console', 'sdk', 'contract'],
    };
    const packageOf = (path: string) => /^(contract|server|cli|sdk|console)\/src\//.exec(path)?.[1];
    expect(
      matching(({ from, to }) => {
        const target = packageOf(to);
        return target !== undefined && allowed[packageOf(from) ?? '']?.includes(target) === false;
      }),
    ).toEqual([]);
  });

  test('no file imports itself through others', () => {
    expect(cyclesIn(imports.filter(({ isType }) => !isType))).toEqual([]);
  });
});

describe('modules of the server', () => {
  test('a module imports only modules before it, types included', () => {
    expect(
      matching(({ from, to }) => {
        const [own, other] = [moduleOf(from), moduleOf(to)];
        if (own === undefined || programs.includes(own) || !within(to, 'server/src')) return false;
        return (
          other === undefined || programs.includes(other) || modules.indexOf(other) > modules.indexOf(own)
        );
      }),
    ).toEqual([]);
  });

  test('every folder of the server is a module', () => {
    const known = [...modules, ...programs, undefined];
    const folders = new Set(files.filter((path) => within(path, 'server/src')).map(moduleOf));
    expect([...folders].filter((folder) => !known.includes(folder))).toEqual([]);
  });

  test('slices of a module have no cycle, types included', () => {
    const edges = imports.flatMap(({ from, to }) => {
      const [own, other] = [sliceOf(from), sliceOf(to)];
      return own && other && own !== other && moduleOf(from) === moduleOf(to)
        ? [{ from: own, to: other }]
        : [];
    });
    const unique = [...new Map(edges.map((edge) => [`${edge.from} ${edge.to}`, edge])).values()];
    expect(cyclesIn(unique)).toEqual([]);
  });

  test("no slice imports another's store or routes", () => {
    expect(
      matching(({ from, to, isType }) => {
        const [own, other] = [sliceOf(from), sliceOf(to)];
        return (
          !isType &&
          own !== undefined &&
          other !== undefined &&
          own !== other &&
          /\/(store|routes)\.ts$/.test(to)
        );
      }),
    ).toEqual([]);
  });

  test('rules are pure: they import neither a store nor a use case', () => {
    expect(
      matching(
        ({ from, to, isType }) =>
          !isType && /\/rules\.ts$/.test(from) && within(to, 'server') && !/\/rules\.ts$|\/core\//.test(to),
      ),
    ).toEqual([]);
  });

  test('only the entry points read the environment', () => {
    const readers = production.filter(
      (path) =>
        within(path, 'server') &&
        !/server\/src\/(main|admin|agent|gate|git|supervise)\.ts$/.test(path) &&
        /process\.env|Bun\.env/.test(textOf(path)),
    );
    expect(readers).toEqual([]);
  });

  test('platform.ts stays a page', () => {
    expect(textOf('server/src/platform.ts').split('\n').length).toBeLessThanOrEqual(150);
  });
});

describe('tables', () => {
  const migrations = [...new Glob('server/migrations/*.sql').scanSync(root)].map(textOf).join('\n');
  const server = production.filter((each) => within(each, 'server/src'));
  // The schema `svc_data` of a database for rows is set up by the server itself.
  const definitions = [migrations, ...server.map(textOf)].join('\n');
  const names = [...definitions.matchAll(/create table (?:if not exists )?(svc|svc_data)\.(\w+)/g)].map(
    ([, schema, name]) => `${schema}.${name}`,
  );
  const writers = new Map<string, Set<string>>();
  const addWriter = (name: string, owner: string) => {
    if (names.includes(name)) writers.set(name, (writers.get(name) ?? new Set()).add(owner));
  };
  const writes = /(?:insert into|update|delete from|truncate) (svc|svc_data)\.(\w+)/g;
  for (const path of server) {
    const module = moduleOf(path);
    // `svc-admin restore` rewrites every restored table.
    if (programs.includes(module ?? '')) continue;
    // The database driver stores keys before the first migration runs.
    const owner = module === 'core' || module === 'drivers' ? 'core' : (sliceOf(path) ?? module ?? path);
    const text = textOf(path);
    for (const [, name] of text.matchAll(/\.(?:insertInto|updateTable|deleteFrom)\(\s*'(?:svc\.)?(\w+)'/g))
      addWriter(`svc.${name}`, owner);
    for (const [, schema, name] of text.matchAll(writes)) addWriter(`${schema}.${name}`, owner);
    // The rotation of a key writes the columns that the key is declared for.
    for (const [, keys = ''] of text.matchAll(/\bdeclare\w*Key\w*(?:<[^(]*>)?\(\{(.*?)\n\}\)/gs))
      for (const [, name] of keys.matchAll(/'(\w+)\.\w+':/g)) addWriter(`svc.${name}`, owner);
  }
  /** Slices of the trigger functions that write: a later module may react to a table of an earlier one. */
  const triggers: Readonly<Record<string, string>> = {
    install_git_host: 'delivery/git-host',
    note_admin_left: 'people/tenants',
  };
  const functions = [
    ...migrations.matchAll(/create (?:or replace )?function svc\.(\w+)\([^$]*\$\$(.*?)\$\$/gs),
  ].map(([, name = '', body = '']) => ({ name, written: [...body.matchAll(writes)] }));
  for (const { name, written } of functions)
    for (const [, schema, table] of written) addWriter(`${schema}.${table}`, triggers[name] ?? name);

  test('a trigger function that writes belongs to a slice', () => {
    const found = functions.filter(({ written }) => written.length > 0).map(({ name }) => name);
    expect(found.sort()).toEqual(Object.keys(triggers).sort());
  });

  test('a table is written by one slice', () => {
    const shared = [...writers].filter(([, owners]) => owners.size > 1);
    expect(shared.map(([name, owners]) => `${name}: ${[...owners].sort().join(', ')}`)).toEqual([]);
  });

  test('the writers of most tables are found', () => {
    // Guards the expression above: a change of style must not make the test see nothing.
    expect(writers.size).toBeGreaterThan(names.length * 0.8);
  });
});

test('no literal is spread into another', () => {
  // A spread literal is not checked for excess properties. One that a method computes from is allowed.
  const literal = /(?<!\.)\.\.\.(?:\{[^{}]*\}|\[(?:[^[\]]|\[[^[\]]*\])*\])(?!\s*[.:])/;
  expect(allCode.filter((path) => literal.test(textOf(path)))).toEqual([]);
});

test('no file is longer than 400 lines', () => {
  const long = allCode
    .map((path) => ({ path, lines: textOf(path).split('\n').length }))
    .filter(({ path, lines }) => lines > (isTest(path) ? 500 : 400));
  expect(long).toEqual([]);
});

test('the server has at most 600 production files, of 171 lines on average', () => {
  const lines = production
    .filter((path) => within(path, 'server/src'))
    .map((path) => textOf(path).trimEnd().split('\n').length);
  expect(lines.length).toBeLessThanOrEqual(600);
  expect(lines.reduce((sum, count) => sum + count, 0) / lines.length).toBeLessThanOrEqual(171);
});
