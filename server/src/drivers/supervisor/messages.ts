import type { Counts } from '../../http/rate-limit.ts';
import type { GateLogins } from '../raw-database/gate.ts';

/** What the supervisor gives the server at its start, in the variable `SVC_SUPERVISED`. */
export interface Supervised {
  /** Null: apps do not run as processes. */
  agentSocket: string | null;
  /** The same after a restart of the server, because running apps know it. */
  gatewayPort: number;
  /** Null: the server has the user of the agent. */
  serverUser: { uid: number; gid: number } | null;
  /** Of a worker: which it is. Null: for the other parts. */
  worker: { number: number; isFirst: boolean; count: number } | null;
  /** Descriptors of the sockets that all workers share; null: the worker opens its own. */
  sockets: SharedSockets | null;
}

export type SharedSockets = Partial<Record<SocketName, number>>;

export type SocketName = 'main' | 'https' | 'gateway' | 'metrics';

export const supervisedVariable = 'SVC_SUPERVISED';

/** From a part: a question, an answer, that it accepts requests, its metrics before it ends, counts of callers, or logins of app databases. */
export type ServerMessage =
  | { question: number; ask: Asked }
  | { answer: number; text: string }
  | { ready: true; port?: number }
  | { metrics: string }
  | { counts: Counts }
  | { logins: GateLogins };

export type Asked = 'database' | 'rawDatabase' | 'rawGate' | 'localSecret' | 'metrics';

/** To a part: an answer, a question for its metrics, that it ends after its requests, what other workers counted, or logins. */
export type SupervisorMessage =
  | { question: number; result: unknown }
  | { question: number; error: string }
  | { wants: 'metrics'; answer: number }
  | { drain: true }
  | { counts: Counts }
  | { logins: GateLogins };
