import type { CliError } from './errors.ts';
import { globalFlags } from './flags.ts';
import { groups, isGroup } from './groups.ts';
import { flagNames, looksLikeFlag, splitFlag } from './parse.ts';
import { isCommand } from './registry.ts';

/** What a line names: a command, or a group (the empty one is `svc` itself), with the rest of the line. */
export interface Resolved {
  kind: 'command' | 'group';
  words: string;
  rest: string[];
}

/** Global flags may stand between and before the words; `svc help <words>` is `svc <words> --help`. */
export async function resolveWords(argv: readonly string[]): Promise<Resolved> {
  let words = '';
  const rest: string[] = [];
  for (let i = 0; i < argv.length; i += 1) {
    const token = argv[i] ?? '';
    if (token === '--' || isCommand(words)) {
      rest.push(...argv.slice(i));
      break;
    }
    if (looksLikeFlag(token)) {
      rest.push(token);
      if (!takesNext(token) || i + 1 >= argv.length) continue;
      i += 1;
      rest.push(argv[i] ?? '');
      continue;
    }
    const longer = words === '' ? token : `${words} ${token}`;
    if (isCommand(longer) || isGroup(longer)) words = longer;
    else if (longer === 'help') rest.push('--help');
    else throw await unknownWord(words, token, rest);
  }
  const named = groups[words]?.alone ?? words;
  return { kind: isCommand(named) ? 'command' : 'group', words: named, rest };
}

function takesNext(token: string): boolean {
  const names = flagNames(globalFlags);
  const { typed, inline } = splitFlag(token, names);
  const name = names.get(typed);
  if (inline !== undefined) return false;
  return Object.entries(globalFlags).some(([known, flag]) => known === name && flag.type !== 'boolean');
}

async function unknownWord(path: string, token: string, before: readonly string[]): Promise<CliError> {
  const names = flagNames(globalFlags);
  const stray = before.find((entry) => looksLikeFlag(entry) && !names.has(splitFlag(entry, names).typed));
  return (await import('./unknown-word.ts')).unknownWord(path, token, stray);
}
