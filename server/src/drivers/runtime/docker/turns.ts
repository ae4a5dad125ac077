/** Instances that are about to be stopped by us, of which the edge has to know before they are. */
export interface Turns {
  onTurn(listener: (instanceId: string) => void): void;
  isLeaving(instanceId: string): boolean;
  /** Somebody was told that it is leaving. */
  wasSeen(instanceId: string): void;
  /** Comes back once that was seen, or nobody looks. The answer ends it. */
  leave(instanceId: string): Promise<() => void>;
}

const seenMsMax = 3_000;
/** From the table to all who lead requests. */
const heardMs = 200;

export function createTurns(): Turns {
  const listeners: ((instanceId: string) => void)[] = [];
  const leaving = new Map<string, PromiseWithResolvers<void>>();
  return {
    onTurn: (listener) => listeners.push(listener),
    isLeaving: (instanceId) => leaving.has(instanceId),
    wasSeen: (instanceId) => leaving.get(instanceId)?.resolve(),
    async leave(instanceId) {
      const seen = Promise.withResolvers<void>();
      leaving.set(instanceId, seen);
      if (listeners.length > 0) {
        for (const listener of listeners) listener(instanceId);
        await Promise.race([seen.promise, Bun.sleep(seenMsMax)]);
        await Bun.sleep(heardMs);
      }
      return () => leaving.delete(instanceId);
    },
  };
}
