import type { Declaration, Flags } from './declaration.ts';

export interface Program<C extends Declaration = Declaration> {
  name: string;
  about: string;
  notes: readonly string[];
  commands: readonly string[];
  /** First words of commands by subject, for the help of the program; others come last. */
  subjects?: Readonly<Record<string, string>>;
  groups: Readonly<Record<string, Group>>;
  /** Accepted by every command, anywhere on the line. A command's own flag of the same name hides one. */
  globalFlags: Flags;
  timeoutDefault?: string;
  wordFlags?: Flags;
  listsAll?: true;
  rejectsDuplicates?: true;
  load(words: string): Promise<C>;
}

export interface Group {
  summary: string;
  alone?: string;
}

export function isCommand({ commands }: Program, words: string): boolean {
  return commands.includes(words);
}

export function isGroup({ groups }: Program, words: string): boolean {
  return Object.hasOwn(groups, words);
}

export function nextWords({ commands }: Program, path: string): string[] {
  const prefix = path === '' ? '' : `${path} `;
  const found = new Set<string>();
  for (const words of commands) {
    if (words.startsWith(prefix)) found.add(words.slice(prefix.length).split(' ')[0] ?? '');
  }
  return [...found];
}
