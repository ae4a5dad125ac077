import type { Database } from '../database/types.ts';
import type { RawServer } from '../raw-database/server.ts';
import type { Asked, ServerMessage, SupervisorMessage } from './messages.ts';

export interface Supervisor {
  /** The database that the supervisor has opened. It outlives the server. */
  openDatabase(): Promise<Database>;
  rawServer: RawServer;
  reportReady(): void;
}

/** The supervisor has told the operator about it. */
export class ReportedError extends Error {}

/** Over the channel between the two processes. `onLost`: the supervisor has ended. */
export function connectSupervisor(onLost: () => void): Supervisor {
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  let last = 0;
  process.on('message', (message: SupervisorMessage) => {
    const answer = waiting.get(message.question);
    waiting.delete(message.question);
    if ('error' in message) answer?.reject(new Error(message.error));
    else answer?.resolve(message.result);
  });
  process.on('disconnect', onLost);
  const send = (message: ServerMessage) => process.send?.(message);
  const ask = <T>(what: Asked): Promise<T> => {
    const answer = Promise.withResolvers<unknown>();
    waiting.set(++last, answer);
    send({ question: last, ask: what });
    return answer.promise as Promise<T>;
  };
  return {
    async openDatabase() {
      const opened = await ask<Omit<Database, 'stop' | 'stopNow' | 'exited'>>('database').catch(
        (error: Error) => {
          throw new ReportedError(error.message);
        },
      );
      return { ...opened, stop: async () => {}, stopNow: () => {}, exited: new Promise(() => {}) };
    },
    rawServer: {
      kind: 'embedded',
      // The supervisor starts it.
      exists: () => false,
      url: () => ask('rawDatabase'),
      stop: async () => {},
      stopNow: () => {},
    },
    reportReady: () => void send({ ready: true }),
  };
}
