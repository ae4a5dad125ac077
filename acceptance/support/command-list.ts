import { runSvc } from '../../cli/testing/run-svc.ts';

export interface CommandHelp {
  /** The words after `svc`; empty for the tool itself. */
  words: string;
  kind: 'command' | 'group';
  help: string;
  /** Whether it has `--execute`. */
  mutates: boolean;
}

let all: Promise<CommandHelp[]> | undefined;

/** Every command and group of `svc`, found by following the help. */
export function commandList(): Promise<CommandHelp[]> {
  all ??= explore('');
  return all;
}

async function explore(words: string): Promise<CommandHelp[]> {
  const typed = words === '' ? [] : words.split(' ');
  const { exit, out, err } = await runSvc([...typed, '--help'], { env: { ...process.env, NO_COLOR: '1' } });
  if (exit !== 0 || err !== '') throw new Error(`svc ${words} --help ended with ${exit}: ${err}`);
  // The help of the tool itself lists its commands by subject.
  const lists =
    words === '' ? /\n\n((?:(?!Usage|Global flags)\S.*\n(?: {2}.*\n)+\n?)+)/ : /^Commands\n((?: {2}.*\n)+)/m;
  const below = lists.exec(out)?.[1];
  const found: CommandHelp = {
    words,
    kind: below === undefined ? 'command' : 'group',
    help: out,
    mutates: /^ {2}--execute /m.test(out),
  };
  const next = [...(below ?? '').matchAll(/^ {2}(\S+) /gm)].map(([, word]) => `${words} ${word}`.trim());
  return [found, ...(await Promise.all(next.map(explore))).flat()];
}
