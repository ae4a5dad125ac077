/** Requests that are being passed on to an address, WebSockets among them: who ends an instance waits for them. */
export interface UnderWay {
  begin(address: string): void;
  end(address: string): void;
  count(address: string): number;
}

export function createUnderWay(): UnderWay {
  const counts = new Map<string, number>();
  return {
    begin: (address) => void counts.set(address, (counts.get(address) ?? 0) + 1),
    end(address) {
      const left = (counts.get(address) ?? 0) - 1;
      if (left > 0) counts.set(address, left);
      else counts.delete(address);
    },
    count: (address) => counts.get(address) ?? 0,
  };
}
