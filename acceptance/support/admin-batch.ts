import { join } from 'node:path';
import { endWith, type RunningServer, root } from './server.ts';

/** `./svc-admin batch` kept open on a server: the tool starts once, not once for each person that a test needs. */
interface Batch {
  /** Whether it can take a line. */
  isOpen(): boolean;
  run(words: readonly string[]): Promise<unknown>;
}

const batches = new Map<RunningServer, Promise<Batch | null>>();

/** One command, behind those asked for before. The first that fails ends the tool; the next one starts it again. */
export function runInBatch(server: RunningServer, words: readonly string[]): Promise<unknown> {
  const before = batches.get(server) ?? Promise.resolve(null);
  const batch = before.then((open) => (open?.isOpen() ? open : openBatch(server)));
  const answer = batch.then((open) => open.run(words));
  batches.set(
    server,
    answer.then(
      () => batch,
      () => null,
    ),
  );
  return answer;
}

function openBatch(server: RunningServer): Batch {
  const child = Bun.spawn([join(root, 'svc-admin'), 'batch'], {
    cwd: root,
    env: { ...process.env, ...server.env },
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const errors = new Response(child.stderr).text();
  const answers = linesOf(child.stdout);
  endWith(server, async () => {
    await child.stdin.end();
    await child.exited;
  });
  return {
    isOpen: () => child.exitCode === null && child.signalCode === null,
    run: async (words) => {
      child.stdin.write(`${JSON.stringify(words)}\n`);
      await child.stdin.flush();
      const { value, done } = await answers.next();
      if (!done) return JSON.parse(value);
      throw new Error(`svc-admin ${words.join(' ')} ended with ${await child.exited}: ${await errors}`);
    },
  };
}

async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string, undefined> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
}
