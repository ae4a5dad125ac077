import type { Declaration, Flags } from './declaration.ts';
import { allFlags, flagNames, looksLikeFlag, splitFlag } from './flags.ts';
import { listEntries } from './help.ts';
import { isCommand, isGroup, type Program } from './program.ts';
import { sanitize } from './text.ts';

export type Candidate = [text: string, about: string];
export type TypedValues = Readonly<Record<string, string>>;
/** Values that only a server knows, by the name of a flag or a positional. */
export type FindValues = (name: string, typed: TypedValues) => Promise<Candidate[]>;

export async function completionLines(
  program: Program,
  typed: readonly string[],
  findValues: FindValues = async () => [],
): Promise<string> {
  const words = joinEquals(typed);
  const current = words.at(-1) ?? '';
  const candidates = await candidatesFor(program, words.slice(0, -1), current, findValues).catch(
    (): Candidate[] => [],
  );
  return candidates
    .filter(([text]) => text.startsWith(current))
    .map(([text, about]) => `${sanitize(text)}\t${sanitize(about).replaceAll(/\s+/g, ' ')}\n`)
    .join('');
}

async function candidatesFor(
  program: Program,
  before: readonly string[],
  current: string,
  findValues: FindValues,
): Promise<Candidate[]> {
  const resolved = resolveTyped(program, before);
  if (resolved === null) return [];
  const { path, rest, alone } = resolved;
  const command = isCommand(program, path) ? await program.load(path) : null;
  const flags: Flags = command === null ? program.globalFlags : allFlags(program, command);
  const typed = typedValues(before, flags);
  const find = (name: string) => findValues(name, typed);
  if (rest.includes('--')) return command === null ? [] : positionalValues(command, rest, flags, find);
  const pending = pendingFlag(before.at(-1), flags);
  if (pending !== null) return flagValues(pending, flags, find);
  const inline = splitFlag(current, new Map());
  if (looksLikeFlag(current) && inline.inline !== undefined) {
    const values = await flagValues(flagNames(flags).get(inline.typed) ?? '', flags, find);
    return values.map(([value, about]) => [`${inline.typed}=${value}`, about]);
  }
  if (current.startsWith('-')) return flagCandidates(flags);
  const values = command === null ? [] : await positionalValues(command, rest, flags, find);
  if (alone !== undefined && rest.length === 0) return [...(await listEntries(program, alone)), ...values];
  return command === null ? listEntries(program, path) : values;
}

function typedValues(before: readonly string[], flags: Flags): TypedValues {
  const names = flagNames(flags);
  const values: Record<string, string> = {};
  for (const [at, word] of before.entries()) {
    if (!looksLikeFlag(word)) continue;
    const { typed, inline } = splitFlag(word, names);
    const name = names.get(typed);
    const value = inline ?? before[at + 1];
    if (name !== undefined && value !== undefined && flags[name]?.type === 'string') values[name] = value;
  }
  return values;
}

function resolveTyped(
  program: Program,
  before: readonly string[],
): { path: string; rest: string[]; alone?: string } | null {
  const { globalFlags, groups } = program;
  const names = flagNames(globalFlags);
  let path = '';
  const rest: string[] = [];
  for (let i = 0; i < before.length; i += 1) {
    const word = before[i] ?? '';
    const longer = path === '' ? word : `${path} ${word}`;
    if (isCommand(program, path) || rest.length > 0) rest.push(word);
    else if (isCommand(program, longer) || isGroup(program, longer)) path = longer;
    else if (groups[path]?.alone !== undefined && !names.has(word)) rest.push(word);
    else if (!looksLikeFlag(word) && longer !== 'help') return null;
    else if (takesValue(globalFlags, names, word)) i += 1;
  }
  const alone = groups[path]?.alone;
  return alone === undefined ? { path, rest } : { path: alone, rest, alone: path };
}

function takesValue(flags: Flags, names: ReadonlyMap<string, string>, word: string): boolean {
  const flag = flags[names.get(word) ?? ''];
  return flag !== undefined && flag.type !== 'boolean';
}

function pendingFlag(word: string | undefined, flags: Flags): string | null {
  const names = flagNames(flags);
  return word !== undefined && takesValue(flags, names, word) ? (names.get(word) ?? null) : null;
}

async function flagValues(
  name: string,
  flags: Flags,
  find: (name: string) => Promise<Candidate[]>,
): Promise<Candidate[]> {
  const flag = flags[name];
  if (flag === undefined) return [];
  if (flag.type === 'string') return find(name);
  if (flag.type === 'boolean')
    return [
      ['true', ''],
      ['false', ''],
    ];
  return flag.type === 'enum' || flag.type === 'list' ? (flag.values ?? []).map((value) => [value, '']) : [];
}

function flagCandidates(flags: Flags): Candidate[] {
  return Object.entries(flags)
    .filter(([, flag]) => !flag.hidden && flag.retired === undefined)
    .flatMap(([name, flag]) =>
      [name, ...(flag.alias ?? [])].map((it): Candidate => [`--${it}`, flag.summary]),
    );
}

async function positionalValues(
  command: Declaration,
  rest: readonly string[],
  flags: Flags,
  find: (name: string) => Promise<Candidate[]>,
): Promise<Candidate[]> {
  const names = flagNames(flags);
  const typedCount = rest.filter((word, at) => {
    const before = rest[at - 1];
    return !looksLikeFlag(word) && (before === undefined || !takesValue(flags, names, before));
  }).length;
  const positionals = command.positionals ?? [];
  const positional =
    positionals[typedCount] ?? (positionals.at(-1)?.repeated ? positionals.at(-1) : undefined);
  if (positional === undefined) return [];
  if (positional.values === undefined) return find(positional.name);
  return positional.values.map((value) => [value, positional.summary]);
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

export const shells = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof shells)[number];

/** The scripts call `svc __complete` through the word that was typed, so that new commands need no new script. */
export const completionScripts: Readonly<Record<Shell, string>> = {
  bash: `# svc completion for bash: eval "$(svc completion bash)"
_svc_complete() {
  local line current="\${COMP_WORDS[COMP_CWORD]}"
  COMPREPLY=()
  while IFS= read -r line; do
    line="\${line%%$'\\t'*}"
    # bash splits at "=": the part before it is already on the line.
    if [[ "$current" == "=" || "\${COMP_WORDS[COMP_CWORD-1]}" == "=" ]]; then line="\${line#*=}"; fi
    COMPREPLY+=("$line")
  done < <("\${COMP_WORDS[0]}" __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _svc_complete svc
`,
  zsh: `#compdef svc
# svc completion for zsh: eval "$(svc completion zsh)"
_svc_complete() {
  local line
  local -a found
  while IFS= read -r line; do
    found+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done < <("\${words[1]}" __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)
  if (( \${#found} )); then _describe 'svc' found; else _files; fi
}
compdef _svc_complete svc
`,
  fish: `# svc completion for fish: svc completion fish | source
function __svc_complete
  set -l typed (commandline -opc)
  set -l current (commandline -ct)
  $typed[1] __complete $typed[2..-1] "$current" 2>/dev/null
end
complete -c svc -f -a '(__svc_complete)'
`,
};
