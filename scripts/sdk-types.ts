import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { Glob } from 'bun';
import { root } from './run-tests.ts';

const entries = ['sdk/src/main.ts', 'sdk/src/server-user.ts'];

/**
 * The type declarations of the SDK's package (`/sdk.tgz`), by path. They are stored in the repository, since the server does
 * not have the compiler.
 */
export async function sdkTypes(): Promise<Record<string, string>> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-sdk-types-'));
  try {
    const project = {
      extends: join(root, 'tsconfig.json'),
      compilerOptions: {
        noEmit: false,
        declaration: true,
        emitDeclarationOnly: true,
        incremental: false,
        rootDir: root,
        outDir: folder,
        types: [],
        paths: { '@svc/contract/*': [join(root, 'contract/src/*')] },
      },
      include: [],
      files: entries.map((path) => join(root, path)),
    };
    const config = join(root, 'sdk', `tsconfig.${process.pid}.json`);
    await Bun.write(config, JSON.stringify(project));
    const compiler = Bun.spawn([join(root, 'node_modules', '.bin', 'tsc'), '-p', config], { stdout: 'pipe' });
    const output = await new Response(compiler.stdout).text();
    await rm(config);
    if ((await compiler.exited) !== 0) throw new Error(`The types of the SDK could not be made:\n${output}`);
    const names = [...new Glob('**/*.d.ts').scanSync(folder)].sort();
    const files = await Promise.all(
      names.map(async (name) => {
        const text = await Bun.file(join(folder, name)).text();
        return [packagePath(name), adaptImports(name, text)] as const;
      }),
    );
    const all = new Map(files);
    const reached = new Set(['main.d.ts', 'server-user.d.ts']);
    for (const name of reached)
      for (const [, specifier = ''] of (all.get(name) ?? '').matchAll(
        /(?:from |import\()['"]([^'"]+)\.js['"]/g,
      ))
        reached.add(join(dirname(name), `${specifier}.d.ts`));
    return Object.fromEntries([...reached].sort().map((name) => [`sdk/types/${name}`, all.get(name) ?? '']));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** `sdk/src/main.d.ts` is `main.d.ts` in the package, `contract/src/plan.d.ts` is `contract/plan.d.ts`. */
const packagePath = (name: string) =>
  name.replace(/^sdk\/src\//, '').replace(/^contract\/src\//, 'contract/');

function adaptImports(name: string, text: string): string {
  return text.replace(/(from |import\()(['"])([^'"]+)\.ts\2/g, (_, before, quote, specifier: string) => {
    if (specifier.startsWith('.')) return `${before}${quote}${specifier}.js${quote}`;
    const target = specifier.replace('@svc/contract/', 'contract/');
    const path = relative(dirname(packagePath(name)), target);
    return `${before}${quote}${path.startsWith('.') ? path : `./${path}`}.js${quote}`;
  });
}
