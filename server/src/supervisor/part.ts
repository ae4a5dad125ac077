import type { Subprocess } from 'bun';
import type { Environment } from '../config/values.ts';
import type {
  ServerMessage,
  SupervisorMessage,
  SupervisorRequest,
} from '../drivers/supervisor/connect-supervisor.ts';
import { findProgram, type Program, renewBundle } from './bundle.ts';

export interface Part {
  pid: number;
  ready: Promise<{ port: number } | null>;
  exited: Promise<{ code: number; ready: boolean }>;
  send(message: SupervisorMessage): void;
  readMetrics(msMax: number): Promise<string | null>;
  /** SIGTERM, and SIGKILL after this time. */
  stop(graceMs: number): Promise<void>;
  drain(graceMs: number): Promise<void>;
  kill(): void;
}

/** A session of its own: Ctrl-C reaches the supervisor alone. The part ends when the channel between them closes. */
export function startPart(options: {
  program: Program;
  through?: readonly string[];
  env: Environment;
  /** Descriptors of this process; in the part they are 3, 4 and so on. */
  descriptors?: readonly number[];
  onAsk?: (what: SupervisorRequest) => Promise<unknown>;
  onMessage?: (message: ServerMessage) => void;
}): Part {
  let isReady = false;
  let lastAnswer = 0;
  const answers = new Map<number, (text: string | null) => void>();
  const ready = Promise.withResolvers<{ port: number } | null>();
  const child: Subprocess = Bun.spawn(
    [...(options.through ?? []), process.execPath, '--no-env-file', findProgram(options.program)],
    {
      env: options.env,
      stdio: ['ignore', 'inherit', 'inherit', ...(options.descriptors ?? [])],
      detached: true,
      serialization: 'json',
      ipc: (message: ServerMessage) => void receive(message),
    },
  );
  async function receive(message: ServerMessage): Promise<void> {
    if ('ready' in message) {
      isReady = true;
      ready.resolve({ port: message.port ?? 0 });
      if (options.program === 'main.ts') renewBundle();
    } else if ('answer' in message) answers.get(message.answer)?.(message.text);
    else if ('question' in message) {
      const { question, ask } = message;
      const reply = await options.onAsk?.(ask).then(
        (result) => ({ question, result }),
        (error: unknown) => ({ question, error: error instanceof Error ? error.message : String(error) }),
      );
      if (reply) send(reply);
    } else options.onMessage?.(message);
  }
  function send(message: SupervisorMessage): void {
    if (child.exitCode !== null || child.signalCode !== null) return;
    try {
      child.send(message);
    } catch {
      // The channel of a process closes before its exit is known.
    }
  }
  const exited = child.exited.then((code) => {
    ready.resolve(null);
    for (const answer of answers.values()) answer(null);
    return { code, ready: isReady };
  });
  async function endWithin(graceMs: number): Promise<void> {
    const timer = setTimeout(() => child.kill('SIGKILL'), graceMs);
    await exited;
    clearTimeout(timer);
  }
  return {
    pid: child.pid,
    ready: ready.promise,
    exited,
    send,
    async readMetrics(msMax) {
      const number = ++lastAnswer;
      const answer = Promise.withResolvers<string | null>();
      answers.set(number, answer.resolve);
      const timer = setTimeout(() => answer.resolve(null), msMax);
      send({ wants: 'metrics', answer: number });
      const text = await answer.promise;
      clearTimeout(timer);
      answers.delete(number);
      return text;
    },
    async stop(graceMs) {
      child.kill('SIGTERM');
      await endWithin(graceMs);
    },
    async drain(graceMs) {
      send({ drain: true });
      await endWithin(graceMs);
    },
    kill: () => child.kill('SIGKILL'),
  };
}
