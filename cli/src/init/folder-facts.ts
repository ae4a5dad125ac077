/** What `svc init` looks at, gathered before anything is decided. Nothing of the project is ever run. */
export interface FolderFacts {
  /** The last part of its path. */
  folder: string;
  /** The names in it; that of a folder ends with a slash. */
  entries: ReadonlySet<string>;
  /** Of `textFiles`, those that are there. */
  texts: Readonly<Record<string, string>>;
  /** Of `pageFolders`, those with an `index.html`. */
  pages: readonly string[];
  /** The address of the git remote `origin`. */
  origin: string | null;
}

const configs = (name: string) => ['js', 'mjs', 'cjs', 'ts', 'mts'].map((end) => `${name}.config.${end}`);

export const dockerfiles = ['Dockerfile', 'Containerfile'] as const;
export const composeFiles = [
  ...['compose.yaml', 'compose.yml', 'docker-compose.yaml', 'docker-compose.yml'],
] as const;
export const textFiles: readonly string[] = [
  'package.json',
  ...dockerfiles,
  ...configs('next'),
  ...configs('vite'),
  ...configs('astro'),
];
/** Where files are commonly put that are ready to be served. */
export const pageFolders: readonly string[] = ['dist', 'build', 'out', '_site', 'public', 'www'];

/** The text of a tool's configuration, whichever way it is spelled. */
export function configText({ texts }: FolderFacts, tool: string): string {
  return (
    configs(tool)
      .map((name) => texts[name])
      .find((text) => text !== undefined) ?? ''
  );
}
