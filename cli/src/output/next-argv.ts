import { allFlags, flagNames, looksLikeFlag, splitFlag } from '../framework/flags.ts';
import { parseArgs } from '../framework/parse.ts';
import { svc } from '../registry.ts';

export interface NextStep {
  /** A command that can be run as it is; empty if a person must choose or do something first. */
  argv: string[];
  why: string;
}

export async function nextCommand(advice: string): Promise<NextStep> {
  for (const [, text = ''] of advice.matchAll(/\bsvc ((?:.(?!\bsvc ))*.)/gs)) {
    const argv = await runnable(shellWords(text));
    if (argv !== null) return { argv: ['svc', ...argv], why: advice };
  }
  return { argv: [], why: advice };
}

/** The words of a command and the arguments after it; what follows is prose. */
async function runnable(words: readonly Word[]): Promise<string[] | null> {
  let length = 0;
  for (let count = 1; count <= words.length; count += 1)
    if (svc.commands.includes(words.slice(0, count).map(bare).join(' '))) length = count;
  const isHelp = words.findIndex((word) => bare(word) === '--help');
  if (isHelp !== -1 && words.slice(0, isHelp).every((word) => !word.isEnd))
    return words.slice(0, isHelp + 1).map(bare);
  if (length === 0) return null;
  const command = await svc.load(words.slice(0, length).map(bare).join(' '));
  const flags = allFlags(svc, command);
  const names = flagNames(flags);
  const argv = words.slice(0, length).map(bare);
  let missing = command.positionals?.filter((it) => !it.optional).length ?? 0;
  for (let at = length; at < words.length && !words[at - 1]?.isEnd; at += 1) {
    const word = words[at] as Word;
    const { typed, inline } = splitFlag(bare(word), names);
    const flag = flags[names.get(typed) ?? ''];
    if (looksLikeFlag(word.text) && flag !== undefined) {
      argv.push(bare(word));
      if (inline !== undefined || flag.type === 'boolean') continue;
      at += 1;
      argv.push(bare(words[at] ?? { text: '<value>', isEnd: true }));
    } else if (missing > 0 && !looksLikeFlag(word.text)) {
      missing -= 1;
      argv.push(bare(word));
    } else break;
  }
  if (missing > 0 || argv.some((word) => /^<.*>$/.test(word))) return null;
  return parseArgs(svc, command, argv.slice(length), { env: {} }).then(
    () => argv,
    () => null,
  );
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
