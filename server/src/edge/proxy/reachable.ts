/** Whether something listens at an address. Asked before a request is sent, since a body can be sent only once. */
export interface Reachable {
  /** `now`: what was heard a moment ago does not count. */
  check(address: string, how: 'lately' | 'now'): Promise<boolean>;
  /** It has just answered. */
  note(address: string): void;
  forget(address: string): void;
}

/** Who was heard so lately is taken to be there. */
const heardMs = 1_000;
const heardMax = 10_000;

export function createReachable({ connectMs }: { connectMs: number }): Reachable {
  const heard = new Map<string, number>();

  function note(address: string): void {
    if (heard.size >= heardMax) heard.clear();
    heard.set(address, performance.now());
  }

  return {
    note,
    forget: (address) => void heard.delete(address),
    async check(address, how) {
      const at = heard.get(address);
      if (how === 'lately' && at !== undefined && performance.now() - at < heardMs) return true;
      const isThere = await connects(address, connectMs);
      if (isThere) note(address);
      else heard.delete(address);
      return isThere;
    },
  };
}

async function connects(address: string, ms: number): Promise<boolean> {
  const url = URL.parse(`http://${address}`);
  if (!url) return false;
  const end = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => end.resolve(false), ms);
  Bun.connect({
    hostname: url.hostname.replace(/^\[|\]$/g, ''),
    port: Number(url.port || 80),
    socket: {
      open(socket) {
        end.resolve(true);
        socket.end();
      },
      connectError: () => end.resolve(false),
      data: () => {},
    },
  }).catch(() => end.resolve(false));
  try {
    return await end.promise;
  } finally {
    clearTimeout(timer);
  }
}
