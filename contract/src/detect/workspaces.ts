import type { SourceFiles } from './source-files.ts';

/** The folders of the packages of a workspace (npm, pnpm, Yarn, Bun). Empty: it is none. */
export async function workspaceFolders(root: SourceFiles): Promise<string[]> {
  const patterns = [
    ...declaredPatterns(await readJson(root, 'package.json')),
    ...pnpmPatterns((await root.read('pnpm-workspace.yaml')) ?? ''),
  ];
  const included = patterns.filter((pattern) => !pattern.startsWith('!')).map(toRegExp);
  const excluded = patterns.filter((pattern) => pattern.startsWith('!')).map((it) => toRegExp(it.slice(1)));
  return [...root.paths]
    .filter((path) => path.endsWith('/package.json'))
    .map((path) => path.slice(0, -'/package.json'.length))
    .filter((folder) => included.some((it) => it.test(folder)) && !excluded.some((it) => it.test(folder)))
    .sort();
}

/** The files of a folder. */
export function below(root: SourceFiles, folder: string): SourceFiles {
  const prefix = `${folder}/`;
  const inside = [...root.paths].filter((path) => path.startsWith(prefix));
  return {
    paths: new Set(inside.map((path) => path.slice(prefix.length))),
    read: (path) => root.read(prefix + path),
  };
}

/** Tools of the packages that the root of a workspace sets. */
const sharedFiles = [
  'pnpm-lock.yaml',
  'yarn.lock',
  'bun.lock',
  'bun.lockb',
  'package-lock.json',
  'npm-shrinkwrap.json',
  '.nvmrc',
  '.node-version',
];

/** The files of a package as its tools see them. */
export function withWorkspaceTools(root: SourceFiles, own: SourceFiles): SourceFiles {
  const shared = sharedFiles.filter((name) => root.paths.has(name) && !own.paths.has(name));
  return {
    paths: new Set([...own.paths, ...shared]),
    async read(path) {
      if (shared.includes(path)) return root.read(path);
      if (path !== 'package.json') return own.read(path);
      const data = await readJson(own, path);
      if (data === null) return own.read(path);
      const { packageManager, engines } = (await readJson(root, path)) ?? {};
      return JSON.stringify({ packageManager, engines, ...data });
    },
  };
}

/** Runs the command in the root of the workspace, where the lock file is. */
export function installAtRoot(folder: string, command: string | null): string | null {
  return command && `cd ${folder.split('/').fill('..').join('/')} && ${command}`;
}

async function readJson(files: SourceFiles, path: string): Promise<Record<string, unknown> | null> {
  try {
    const data: unknown = JSON.parse((await files.read(path))?.replace(/^\uFEFF/, '') ?? '');
    return typeof data === 'object' && data !== null ? (data as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

function declaredPatterns(data: Record<string, unknown> | null): string[] {
  const { workspaces } = data ?? {};
  const found = Array.isArray(workspaces) ? workspaces : Reflect.get(Object(workspaces), 'packages');
  return Array.isArray(found) ? found.filter((it) => typeof it === 'string') : [];
}

/** The list `packages` of pnpm-workspace.yaml. */
function pnpmPatterns(text: string): string[] {
  const list = /^packages:[ \t]*\r?\n((?:[ \t]*(?:-.*|#.*)?(?:\r?\n|$))*)/m.exec(text)?.[1] ?? '';
  return [...list.matchAll(/^[ \t]*-[ \t]*(['"]?)([^'"#\r\n]+?)\1[ \t]*(?:#.*)?$/gm)].map(
    ([, , it = '']) => it,
  );
}

function toRegExp(pattern: string): RegExp {
  const parts = pattern
    .replace(/^\.\//, '')
    .replace(/\/$/, '')
    .split(/(\*\*|\*)/);
  const text = parts.map((part) => {
    if (part === '**') return '.*';
    return part === '*' ? '[^/]*' : part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  });
  return new RegExp(`^${text.join('')}$`);
}
