/** The load of one tenant, in a thread of its own: its client does not delay those that measure. */
declare const self: Worker;

export interface LoadOrder {
  baseUrl: string;
  token: string;
  paths: readonly string[];
  /** Requests in a second, spread over the clients; 0: none. */
  perSecond: number;
  clients: number;
}

export interface LoadReport {
  statuses: Record<string, number>;
}

let order: LoadOrder | null = null;
let round = 0;
let statuses: Record<string, number> = {};

async function run(mine: number, at: number, { baseUrl, token, paths, perSecond, clients }: LoadOrder) {
  const pauseMs = (1000 * clients) / perSecond;
  let next = performance.now() + (pauseMs * at) / clients;
  for (let sent = at; mine === round; sent++) {
    const waitMs = next - performance.now();
    if (waitMs > 0) await Bun.sleep(waitMs);
    next += pauseMs;
    const response = await fetch(baseUrl + paths[sent % paths.length], {
      headers: { authorization: `Bearer ${token}` },
    }).catch(() => null);
    await response?.arrayBuffer();
    const status = response?.status ?? 'lost';
    statuses[status] = (statuses[status] ?? 0) + 1;
  }
}

self.onmessage = ({ data }: MessageEvent<LoadOrder | null>) => {
  round++;
  order = data;
  const report: LoadReport = { statuses };
  statuses = {};
  postMessage(report);
  if (!order || order.perSecond === 0) return;
  for (let at = 0; at < order.clients; at++) void run(round, at, order);
};
