import { type CliError, usageError } from './errors.ts';
import { flagNames, looksLikeFlag, splitFlag } from './flags.ts';
import { isCommand, isGroup, nextWords, type Program } from './program.ts';

export interface ResolvedWords {
  kind: 'command' | 'group';
  words: string;
  rest: string[];
  alone?: string;
}

/** Global flags may stand before and between the words; `help <words>` is `<words> --help`. */
export async function resolveWords(program: Program, argv: readonly string[]): Promise<ResolvedWords> {
  const { groups } = program;
  const flags = program.wordFlags ?? program.globalFlags;
  const names = flagNames(flags);
  let words = '';
  const rest: string[] = [];
  for (let i = 0; i < argv.length; i += 1) {
    const token = argv[i] ?? '';
    if (token === '--' || isCommand(program, words)) {
      rest.push(...argv.slice(i));
      break;
    }
    if (looksLikeFlag(token)) {
      const { typed, inline } = splitFlag(token, names);
      const name = names.get(typed);
      // A flag that is not global belongs to the command: its words end here.
      if (groups[words]?.alone !== undefined && name === undefined) {
        rest.push(...argv.slice(i));
        break;
      }
      rest.push(token);
      const takesValue = name !== undefined && inline === undefined && flags[name]?.type !== 'boolean';
      if (takesValue && i + 1 < argv.length) {
        i += 1;
        rest.push(argv[i] ?? '');
      }
      continue;
    }
    const longer = words === '' ? token : `${words} ${token}`;
    if (isCommand(program, longer) || isGroup(program, longer)) words = longer;
    else if (longer === 'help') rest.push('--help');
    else if (await takesArguments(program, groups[words]?.alone)) {
      rest.push(...argv.slice(i));
      break;
    } else {
      const unknownFlag = rest.find(
        (entry) => looksLikeFlag(entry) && !names.has(splitFlag(entry, names).typed),
      );
      throw await unknownWordError(program, words, token, unknownFlag);
    }
  }
  const alone = groups[words]?.alone;
  if (alone !== undefined) return { kind: 'command', words: alone, rest, alone: words };
  return { kind: isCommand(program, words) ? 'command' : 'group', words, rest };
}

async function takesArguments(program: Program, words: string | undefined): Promise<boolean> {
  return words !== undefined && ((await program.load(words)).positionals ?? []).length > 0;
}

/** After an unknown flag, the unknown word may be that flag's value. */
async function unknownWordError(
  program: Program,
  path: string,
  token: string,
  unknownFlag: string | undefined,
): Promise<CliError> {
  const { suggest } = await import('@svc/contract/suggest.ts');
  const prefix = path === '' ? '' : `${path} `;
  const near = suggest(token, nextWords(program, path));
  const next =
    near !== null
      ? `Did you mean ${program.name} ${prefix}${near}?`
      : unknownFlag === undefined
        ? `See ${program.name} ${prefix}--help.`
        : "Put a command's flags after its words.";
  return usageError(`"${prefix}${token}" is not a command.`, next);
}
