import { allFlags, flagNames, looksLikeFlag, splitFlag } from '../framework/flags.ts';
import { parseArgs } from '../framework/parse.ts';
import { svc } from '../registry.ts';

export interface NextStep {
  /** A command that can be run as it is; empty if a person must choose or do something first. */
  argv: string[];
  why: string;
}

/** `app`: of the command that failed, whose svc.yaml may not be there for the next one. */
export async function nextCommand(
  advice: string,
  { app }: { app?: string | undefined } = {},
): Promise<NextStep> {
  for (const { argv, missing } of await namedCommands(advice)) {
    if (missing.length === 0) return { argv: ['svc', ...argv], why: advice };
    if (app !== undefined && missing.join() === '--app' && !argv.some(isPlaceholder))
      return { argv: ['svc', ...argv, '--app', app], why: advice };
  }
  return { argv: [], why: advice };
}

const isPlaceholder = (word: string) => /^<.*>$/.test(word);

interface NamedCommand {
  argv: string[];
  /** Required arguments that are not written, placeholders, or what else is wrong; empty if it can be run as it is. */
  missing: string[];
}

/** The commands in a sentence, with the arguments that are written after them. */
export async function namedCommands(advice: string): Promise<NamedCommand[]> {
  const texts = [...advice.matchAll(/\bsvc ((?:.(?!\bsvc ))*.)/gs)];
  const found = await Promise.all(texts.map(([, text = '']) => readCommand(shellWords(text))));
  return found.filter((command) => command !== null);
}

/** The words of a command and the arguments after it; what follows is prose. */
async function readCommand(words: readonly Word[]): Promise<NamedCommand | null> {
  let length = 0;
  for (let count = 1; count <= words.length; count += 1)
    if (svc.commands.includes(words.slice(0, count).map(bare).join(' '))) length = count;
  const isHelp = words.findIndex((word) => bare(word) === '--help');
  if (isHelp !== -1 && words.slice(0, isHelp).every((word) => !word.isEnd))
    return { argv: words.slice(0, isHelp + 1).map(bare), missing: [] };
  if (length === 0) return null;
  const command = await svc.load(words.slice(0, length).map(bare).join(' '));
  const flags = allFlags(svc, command);
  const names = flagNames(flags);
  const argv = words.slice(0, length).map(bare);
  const positionals = command.positionals?.filter((it) => !it.optional).map(({ name }) => `<${name}>`) ?? [];
  const hasOptional = command.positionals?.some(({ optional }) => optional);
  for (let at = length; at < words.length && !words[at - 1]?.isEnd; at += 1) {
    const word = words[at] as Word;
    const { typed, inline } = splitFlag(bare(word), names);
    const flag = flags[names.get(typed) ?? ''];
    if (looksLikeFlag(word.text) && flag !== undefined) {
      argv.push(bare(word));
      if (inline !== undefined || flag.type === 'boolean') continue;
      at += 1;
      argv.push(bare(words[at] ?? { text: '<value>', isEnd: true }));
    } else if (positionals.length > 0 && !looksLikeFlag(word.text)) {
      positionals.shift();
      argv.push(bare(word));
    } else if (hasOptional && /^(?:<.*>|[0-9a-f-]{36})$/.test(word.text)) argv.push(bare(word));
    else break;
  }
  // Where the advice is read, there may be no svc.yaml that names the app.
  const required = Object.entries(flags).filter(
    ([name, flag]) => flag.required && !argv.includes(`--${name}`),
  );
  const missing = [...positionals, ...required.map(([name]) => `--${name}`)];
  if (missing.length === 0) missing.push(...argv.filter(isPlaceholder));
  if (missing.length === 0)
    await parseArgs(svc, command, argv.slice(length), { env: {} }).catch((error: Error) =>
      missing.push(error.message),
    );
  return { argv, missing };
}

interface Word {
  text: string;
  /** Punctuation of the sentence follows. */
  isEnd: boolean;
}

const bare = ({ text }: Word): string => text;

function shellWords(text: string): Word[] {
  return [...text.matchAll(/(?:'[^']*'|\\'|<[^>]*>|[^\s'])+/g)].map(([word]) => {
    const trimmed = word.replace(/[.,;:)?]+$/, '');
    const plain = trimmed.replaceAll(/'([^']*)'|\\'/g, (whole, inner) => (whole === "\\'" ? "'" : inner));
    return { text: plain, isEnd: trimmed !== word };
  });
}
