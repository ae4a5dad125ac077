import { run } from './commands.ts';
import { root } from './server.ts';

export interface CommandHelp {
  /** What is typed after `svc`; empty for the tool itself. */
  words: string;
  kind: 'command' | 'group';
  help: string;
  /** It takes `--execute`. */
  mutates: boolean;
}

let all: Promise<CommandHelp[]> | undefined;

/** Every command and group that `svc` offers, found as a person finds them: from help to help. */
export function commandList(): Promise<CommandHelp[]> {
  all ??= explore('');
  return all;
}

async function explore(words: string): Promise<CommandHelp[]> {
  const typed = words === '' ? [] : words.split(' ');
  const { code, stdout, stderr } = await run([`${root}/svc`, ...typed, '--help'], { env: { NO_COLOR: '1' } });
  if (code !== 0 || stderr !== '') throw new Error(`svc ${words} --help ended with ${code}: ${stderr}`);
  const below = /^Commands\n((?: {2}.*\n)+)/m.exec(stdout)?.[1];
  const found: CommandHelp = {
    words,
    kind: below === undefined ? 'command' : 'group',
    help: stdout,
    mutates: /^ {2}--execute /m.test(stdout),
  };
  const next = [...(below ?? '').matchAll(/^ {2}(\S+) /gm)].map(([, word]) => `${words} ${word}`.trim());
  return [found, ...(await Promise.all(next.map(explore))).flat()];
}
