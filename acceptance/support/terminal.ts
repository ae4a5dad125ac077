import { until } from './until.ts';

/** A program on a terminal of its own, as a person has it before them. */
export interface OnTerminal {
  type(text: string): void;
  /** Waits until the screen has shown the text, from what was typed last on. */
  sees(text: string): Promise<void>;
  exited: Promise<number>;
  /** Everything that was shown, without colours and movements. */
  shown(): string;
  /** Colours among it. */
  coloured(): boolean;
}

export function onTerminal(
  command: readonly string[],
  env: Record<string, string | undefined>,
  { term = 'xterm-256color' } = {},
): OnTerminal {
  let all = '';
  let from = 0;
  const decoder = new TextDecoder();
  const child = Bun.spawn([...command], {
    env: { ...env, TERM: term },
    terminal: {
      cols: 100,
      rows: 30,
      data: (_terminal, data) => {
        all += decoder.decode(data, { stream: true });
      },
    },
  });
  // biome-ignore lint/suspicious/noControlCharactersInRegex: what a terminal is told, not shown.
  const plain = (text: string) => text.replace(/\x1b\[[0-9;?]*[a-zA-Z]/g, '');
  return {
    type: (text) => {
      from = all.length;
      child.terminal?.write(text);
    },
    sees: async (text) => {
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
