import { until } from './until.ts';

export function onTerminal(
  command: readonly string[],
  env: Record<string, string | undefined>,
  { term = 'xterm-256color', cols = 100 } = {},
) {
  let all = '';
  let from = 0;
  const decoder = new TextDecoder();
  const child = Bun.spawn([...command], {
    env: { ...env, TERM: term },
    terminal: {
      cols,
      rows: 30,
      data: (_terminal, data) => {
        all += decoder.decode(data, { stream: true });
      },
    },
  });
  // biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with a control character.
  const plain = (text: string) => text.replace(/\x1b\[[0-9;?]*[a-zA-Z]/g, '');
  return {
    type: (text: string) => {
      from = all.length;
      child.terminal?.write(text);
    },
    /** Waits until the terminal has printed the text after the last input. */
    sees: async (text: string) => {
      const seen = until('', async () => plain(all.slice(from)).includes(text));
      await seen.catch(() => {
        throw new Error(`The screen never showed ${JSON.stringify(text)}: ${JSON.stringify(plain(all))}`);
      });
    },
    exited: child.exited,
    shown: () => plain(all),
    // biome-ignore lint/suspicious/noControlCharactersInRegex: as above.
    coloured: () => /\x1b\[[0-9;]+m/.test(all),
  };
}
