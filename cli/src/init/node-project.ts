import type { FolderFacts } from './folder-facts.ts';

/** What a `package.json` tells, as far as it can be read. */
export interface NodeProject {
  name: string | null;
  scripts: Readonly<Record<string, string>>;
  dependencies: ReadonlySet<string>;
  main: string | null;
  /** `npm run`, `pnpm run`, … by the lock file. */
  runner: string;
}

/** Null without a `package.json`, or with one that is no JSON object. */
export function nodeProject(facts: FolderFacts): NodeProject | null {
  const data = parseObject(facts.texts['package.json']);
  if (data === null) return null;
  const dependencies = [data.dependencies, data.devDependencies].flatMap((it) => Object.keys(objectOf(it)));
  return {
    name: textOf(data.name),
    scripts: Object.fromEntries(
      Object.entries(objectOf(data.scripts)).flatMap(([name, line]) =>
        typeof line === 'string' && line.trim() !== '' ? [[name, line]] : [],
      ),
    ),
    dependencies: new Set(dependencies),
    main: textOf(data.main),
    runner: `${packageManager(textOf(data.packageManager), facts.entries)} run`,
  };
}

/** It starts a program that listens, rather than a tool for developing. */
export function runsServer({ scripts }: NodeProject): boolean {
  return /^(?:[A-Z_]+=\S+\s+)*(?:node|bun|deno|tsx|ts-node|nodemon)\b/.test(scripts.start ?? '');
}

function packageManager(declared: string | null, entries: ReadonlySet<string>): string {
  const known = /^(npm|pnpm|yarn|bun)@/.exec(declared ?? '')?.[1];
  if (known !== undefined) return known;
  if (entries.has('bun.lock') || entries.has('bun.lockb')) return 'bun';
  if (entries.has('pnpm-lock.yaml')) return 'pnpm';
  return entries.has('yarn.lock') ? 'yarn' : 'npm';
}

function parseObject(text: string | undefined): Record<string, unknown> | null {
  if (text === undefined) return null;
  try {
    const data: unknown = JSON.parse(text.replace(/^\uFEFF/, ''));
    return typeof data === 'object' && data !== null && !Array.isArray(data) ? { ...data } : null;
  } catch {
    return null;
  }
}

function objectOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : null;
}
