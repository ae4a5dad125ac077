export type InFlightCounter = ReturnType<typeof createInFlightCounter>;

/** Proxied requests and WebSockets by instance address. An instance is stopped when its count is zero. */
export function createInFlightCounter() {
  const counts = new Map<string, number>();
  return {
    begin: (address: string) => void counts.set(address, (counts.get(address) ?? 0) + 1),
    end(address: string) {
      const left = (counts.get(address) ?? 0) - 1;
      if (left > 0) counts.set(address, left);
      else counts.delete(address);
    },
    count: (address: string) => counts.get(address) ?? 0,
  };
}
