import { type OrderParts, orderCertificate } from './order-certificate.ts';
import { takeDueOrder } from './store.ts';

/** Orders what is due, beside everything else: an authority takes its time, which the queue of effects must not. */
export interface Ordering {
  /** Looks for what is due now. */
  wake(): void;
  /** When nothing that is due is left, or it is stopped. */
  idle(): Promise<void>;
  stop(): Promise<void>;
}

const atOnceMax = 3;

export function createOrdering(parts: OrderParts): Ordering {
  const stopped = new AbortController();
  const running = new Set<Promise<void>>();

  async function takeAndOrder(): Promise<void> {
    try {
      while (!stopped.signal.aborted) {
        const order = await takeDueOrder(parts.db, parts.authority.name);
        if (!order) return;
        // There may be more: others look as well.
        wake();
        await orderCertificate(parts, order, stopped.signal);
      }
    } catch (error) {
      // The lease runs out, and the next round takes it up again.
      parts.log.error({ err: error }, 'could not order a certificate');
    }
  }

  function wake(): void {
    if (stopped.signal.aborted || running.size >= atOnceMax) return;
    const run: Promise<void> = takeAndOrder().finally(() => running.delete(run));
    running.add(run);
  }

  return {
    wake,
    async idle() {
      while (running.size > 0) await Promise.all(running);
    },
    async stop() {
      stopped.abort();
      await Promise.all(running);
    },
  };
}
