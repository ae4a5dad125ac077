import type { Command, Flag, Flags } from './command.ts';
import { allFlagsOf, flagNames, globalFlags, looksLikeFlag, splitFlag } from './flags.ts';
import { entriesBelow } from './help.ts';
import { groups, isCommand, isGroup, loadCommand } from './registry.ts';

type Candidate = [text: string, about: string];

/**
 * Answers the completion scripts: the words typed so far, the last one unfinished. One candidate per line, a tab
 * and what it does behind it. Never fails: a line that can not be understood has no candidates.
 */
export async function completionLines(typed: readonly string[]): Promise<string> {
  const words = joinEquals(typed);
  const current = words.at(-1) ?? '';
  const candidates = await candidatesFor(words.slice(0, -1), current).catch((): Candidate[] => []);
  return candidates
    .filter(([text]) => text.startsWith(current))
    .map(([text, about]) => `${text}\t${about.replaceAll(/\s+/g, ' ')}\n`)
    .join('');
}

async function candidatesFor(before: readonly string[], current: string): Promise<Candidate[]> {
  const walked = walk(before);
  if (walked === null) return [];
  const { path, given, alone } = walked;
  const command = isCommand(path) ? await loadCommand(path) : null;
  const flags: Flags = command === null ? globalFlags : allFlagsOf(command);
  if (given.includes('--')) return command === null ? [] : positionalValues(command, given, flags);
  const waiting = flagWaiting(before.at(-1), flags);
  if (waiting !== null) return valuesOf(waiting).map((value) => [value, '']);
  const inline = splitFlag(current, new Map());
  if (looksLikeFlag(current) && inline.inline !== undefined) {
    const flag = flags[flagNames(flags).get(inline.typed) ?? ''];
    return (flag === undefined ? [] : valuesOf(flag)).map((value) => [`${inline.typed}=${value}`, '']);
  }
  if (current.startsWith('-')) return flagCandidates(flags);
  if (alone !== undefined && given.length === 0) return entriesBelow(alone);
  if (command !== null) return positionalValues(command, given, flags);
  return entriesBelow(path);
}

/** The command's words so far, and what follows them; `null` after a word that is none. `alone`: see `resolveWords`. */
function walk(before: readonly string[]): { path: string; given: string[]; alone?: string } | null {
  const names = flagNames(globalFlags);
  let path = '';
  const given: string[] = [];
  for (let i = 0; i < before.length; i += 1) {
    const word = before[i] ?? '';
    const longer = path === '' ? word : `${path} ${word}`;
    if (isCommand(path) || given.length > 0) given.push(word);
    else if (isCommand(longer) || isGroup(longer)) path = longer;
    else if (groups[path]?.alone !== undefined && !names.has(word)) given.push(word);
    else if (!looksLikeFlag(word) && longer !== 'help') return null;
    else if (takesValue(globalFlags, names, word)) i += 1;
  }
  const named = groups[path]?.alone;
  return named === undefined ? { path, given } : { path: named, given, alone: path };
}

function takesValue(flags: Flags, names: ReadonlyMap<string, string>, word: string): boolean {
  const flag = flags[names.get(word) ?? ''];
  return flag !== undefined && flag.type !== 'boolean';
}

function flagWaiting(word: string | undefined, flags: Flags): Flag | null {
  const names = flagNames(flags);
  if (word === undefined || !takesValue(flags, names, word)) return null;
  return flags[names.get(word) ?? ''] ?? null;
}

function valuesOf(flag: Flag): readonly string[] {
  if (flag.type === 'boolean') return ['true', 'false'];
  return flag.type === 'enum' || flag.type === 'list' ? (flag.values ?? []) : [];
}

function flagCandidates(flags: Flags): Candidate[] {
  return Object.entries(flags)
    .filter(([, flag]) => !flag.hidden && flag.retired === undefined)
    .flatMap(([name, flag]) =>
      [name, ...(flag.alias ?? [])].map((it): Candidate => [`--${it}`, flag.summary]),
    );
}

function positionalValues(command: Command, given: readonly string[], flags: Flags): Candidate[] {
  const names = flagNames(flags);
  const places = given.filter((word, at) => {
    const before = given[at - 1];
    return !looksLikeFlag(word) && (before === undefined || !takesValue(flags, names, before));
  }).length;
  const positionals = command.positionals ?? [];
  const positional = positionals[places] ?? (positionals.at(-1)?.repeated ? positionals.at(-1) : undefined);
  return (positional?.values ?? []).map((value) => [value, positional?.summary ?? '']);
}

/** bash takes `--output=json` apart at the equals sign. */
function joinEquals(words: readonly string[]): string[] {
  const joined: string[] = [];
  for (let i = 0; i < words.length; i += 1) {
    const word = words[i] ?? '';
    const before = joined.at(-1);
    if (word === '=' && before?.startsWith('--')) {
      joined[joined.length - 1] = `${before}=${words[i + 1] ?? ''}`;
      i += 1;
    } else joined.push(word);
  }
  return joined;
}
