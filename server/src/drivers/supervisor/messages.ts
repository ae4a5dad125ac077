/** What the supervisor gives the server at its start, in the variable `SVC_SUPERVISED`. */
export interface Supervised {
  /** Null: apps do not run as processes. */
  agentSocket: string | null;
  /** The same after a restart of the server, because running apps know it. */
  gatewayPort: number;
  /** Null: the server has the user of the agent. */
  serverUser: { uid: number; gid: number } | null;
}

export const supervisedVariable = 'SVC_SUPERVISED';

/** From the server: a question, or that it accepts requests. */
export type ServerMessage = { question: number; ask: Asked } | { ready: true };

export type Asked = 'database' | 'rawDatabase';

export type SupervisorMessage = { question: number; result: unknown } | { question: number; error: string };
