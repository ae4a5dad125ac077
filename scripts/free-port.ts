/** Below the ports that Linux gives to connections and to listeners without a port of their own (32768 to 60999). */
const [first, last] = [10_000, 32_000];

/**
 * A port of a loopback address that nothing listens at. Between this call and its use only another caller could take it,
 * and ports are chosen at random.
 */
export function freePort(hostname = '127.0.0.1'): number {
  for (;;) {
    const port = first + Math.floor(Math.random() * (last - first));
    try {
      void Bun.listen({ hostname, port, socket: { data() {} } }).stop(true);
      return port;
    } catch (error) {
      if ((error as { code?: string }).code !== 'EADDRINUSE') throw error;
    }
  }
}
