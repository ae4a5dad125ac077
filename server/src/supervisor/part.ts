import type { Subprocess } from 'bun';
import type { Environment } from '../config/values.ts';
import type { Asked, ServerMessage } from '../drivers/supervisor/messages.ts';
import { findProgram, type Program, renewBundle } from './bundle.ts';

export interface Part {
  /** With `ready: false`, an end before it was ready. */
  exited: Promise<{ code: number; ready: boolean }>;
  /** SIGTERM, and SIGKILL after this time. */
  stop(graceMs: number): Promise<void>;
  kill(): void;
}

/**
 * A process of its own session: a Ctrl-C reaches the supervisor alone, which ends its parts in their order. The channel
 * between the two closes with the supervisor, and the part ends by that.
 */
export function startPart(options: {
  program: Program;
  /** A program that starts it, with its arguments. */
  through?: readonly string[];
  env: Environment;
  onAsk?: (what: Asked) => Promise<unknown>;
}): Part {
  let isReady = false;
  const child: Subprocess = Bun.spawn(
    [...(options.through ?? []), process.execPath, '--no-env-file', findProgram(options.program)],
    {
      env: options.env,
      stdin: 'ignore',
      stdout: 'inherit',
      stderr: 'inherit',
      detached: true,
      serialization: 'json',
      ipc: (message: ServerMessage) => void receive(message),
    },
  );
  async function receive(message: ServerMessage): Promise<void> {
    if ('ready' in message) {
      isReady = true;
      if (options.program === 'main.ts') renewBundle();
    }
    if (!('question' in message)) return;
    const { question, ask } = message;
    const reply = await options.onAsk?.(ask).then(
      (result) => ({ question, result }),
      (error: unknown) => ({ question, error: error instanceof Error ? error.message : String(error) }),
    );
    if (child.exitCode === null) child.send(reply);
  }
  const exited = child.exited.then((code) => ({ code, ready: isReady }));
  return {
    exited,
    async stop(graceMs) {
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), graceMs);
      await exited;
      clearTimeout(timer);
    },
    kill: () => child.kill('SIGKILL'),
  };
}
