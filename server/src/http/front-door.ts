import { createPassThroughClients } from './raw-http/pass-through.ts';
import {
  listenRaw,
  type RawListener,
  type RawListenerOptions,
  type StopMode,
} from './raw-http/raw-listener.ts';
import { serve } from './serve.ts';

type ServeOptions = Omit<Parameters<typeof serve>[0], 'host' | 'port' | 'clients'>;
type Endpoint = Pick<
  RawListenerOptions,
  'host' | 'port' | 'socket' | 'descriptor' | 'clientAddress' | 'edge' | 'limits'
>;

/** For connections that are idle when their listener has stopped. */
const generalGraceMs = 100;

/**
 * The general server on the loopback address, and the listeners that clients connect to: those check every
 * request, answer sites and rows themselves, and pass the rest on.
 */
export function openFrontDoor(options: ServeOptions) {
  const clients = createPassThroughClients();
  const general = serve({ ...options, host: clients.fallback.hostname, port: 0, clients });
  clients.fallback.port = general.port;
  const { trustedProxies, strictTransport, log } = options;
  /** Of each listener. */
  const common = { passThroughClients: clients, rows: general.rows, trustedProxies, strictTransport, log };
  return {
    common,
    listen: (endpoint: Endpoint) => listenRaw({ ...common, ...endpoint }),
    async stop(
      listeners: readonly (Pick<RawListener, 'stop'> | null)[],
      { graceMs, how }: { graceMs: number; how: StopMode },
    ) {
      general.announceStop();
      await Promise.all(listeners.map((listener) => listener?.stop(graceMs, how)));
      await general.stop(generalGraceMs);
    },
  };
}
