/** Whose connections the server behind the listener sees: to it, all of them come from this machine. */
export interface PassedOn {
  fallback: { hostname: string; port: number };
  /** Noted until the function that it gives back is called. */
  note(local: { localAddress: string; localPort: number }, client: string): () => void;
  /** The client's address, where the connection is one that was handed over. */
  clientOf(peer: { address: string; port: number } | null): string | undefined;
}

export function createPassedOn(fallback: PassedOn['fallback']): PassedOn {
  const clients = new Map<string, string>();
  return {
    fallback,
    note({ localAddress, localPort }, client) {
      const key = keyOf(localAddress, localPort);
      clients.set(key, client);
      return () => clients.delete(key);
    },
    clientOf: (peer) => (peer === null ? undefined : clients.get(keyOf(peer.address, peer.port))),
  };
}

/** IPv4 that arrives over IPv6 is the same. */
function keyOf(address: string, port: number): string {
  return `${address.replace(/^::ffff:/, '')} ${port}`;
}
