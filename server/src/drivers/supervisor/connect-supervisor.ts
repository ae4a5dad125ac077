import type { CountExchange, Counts } from '../../http/rate-limit.ts';
import type { Database } from '../database/connect.ts';
import type { GateLogins, RawGate } from '../raw-database/gate.ts';
import type { RawServer } from '../raw-database/server.ts';

export interface Supervisor {
  openDatabase(): Promise<Database>;
  rawServer: RawServer;
  rawGate: RawGate;
  /** Of the process that starts git, if git has a user of its own. */
  gitSocket(): Promise<string>;
  /** One for all workers: a request of local login may come to any of them. */
  localSecret(): Promise<string>;
  counts: CountExchange;
  readMetrics(): Promise<string>;
  reportReady(): void;
  reportMetrics(text: string): void;
}

export class ReportedError extends Error {}

interface SupervisorEvents {
  onLost(): void;
  onDrain?(): void;
  onLogins?(logins: GateLogins): void;
  readMetrics?(): Promise<string>;
}

export function connectSupervisor(events: SupervisorEvents): Supervisor {
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  let last = 0;
  const countListeners: ((counts: Counts) => void)[] = [];
  const send = (message: ServerMessage) => process.send?.(message);
  process.on('message', (message: SupervisorMessage) => {
    if ('drain' in message) return events.onDrain?.();
    if ('counts' in message) {
      for (const receive of countListeners) receive(message.counts);
      return;
    }
    if ('logins' in message) return events.onLogins?.(message.logins);
    if ('wants' in message) {
      const { answer } = message;
      return void events.readMetrics?.().then((text) => send({ answer, text }));
    }
    const answer = waiting.get(message.question);
    waiting.delete(message.question);
    if ('error' in message) answer?.reject(new Error(message.error));
    else answer?.resolve(message.result);
  });
  process.on('disconnect', events.onLost);
  const ask = <T>(what: SupervisorRequest): Promise<T> => {
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
      exists: () => false,
      url: () => ask('rawDatabase'),
      stop: async () => {},
      stopNow: () => {},
    },
    rawGate: {
      port: () => ask('rawGate'),
      setLogins: (logins) => void send({ logins }),
      close: async () => {},
    },
    gitSocket: () => ask('gitSocket'),
    localSecret: () => ask('localSecret'),
    counts: {
      send: (counts) => void send({ counts }),
      onReceive: (listener) => void countListeners.push(listener),
    },
    readMetrics: () => ask('metrics'),
    reportReady: () => void send({ ready: true }),
    reportMetrics: (text) => void send({ metrics: text }),
  };
}

export interface Supervised {
  agentSocket: string | null;
  /** The same after a restart of the server, because running apps know it. */
  gatewayPort: number;
  serverUser: { uid: number; gid: number } | null;
  /** False: git has the user of the server. */
  hasGitUser: boolean;
  worker: { number: number; isFirst: boolean; count: number } | null;
  sockets: SharedSockets | null;
}

export type SharedSockets = Partial<Record<SocketName, number>>;

export type SocketName = 'main' | 'https' | 'gateway' | 'metrics';

export const supervisedVariable = 'SVC_SUPERVISED';

export type ServerMessage =
  | { question: number; ask: SupervisorRequest }
  | { answer: number; text: string }
  | { ready: true; port?: number }
  | { metrics: string }
  | { counts: Counts }
  | { logins: GateLogins };

export type SupervisorRequest =
  | 'database'
  | 'rawDatabase'
  | 'rawGate'
  | 'gitSocket'
  | 'localSecret'
  | 'metrics';

export type SupervisorMessage =
  | { question: number; result: unknown }
  | { question: number; error: string }
  | { wants: 'metrics'; answer: number }
  | { drain: true }
  | { counts: Counts }
  | { logins: GateLogins };
