import { mapConcurrently } from '@svc/contract/concurrency.ts';
import type { Plan } from '@svc/contract/plan.ts';
import { randomKey } from '../api/client.ts';
import { mergePlans } from './plan.ts';

interface BatchWork<T, A> {
  preview(item: T): Promise<Plan>;
  execute(item: T, how: { ifPlan: string; key: string }): Promise<A>;
}

interface Batch<T, A> {
  preview(): Promise<Plan>;
  execute(): Promise<{ item: T; answer: A }[]>;
}

const atOnce = 4;

export function newBatch<T, A>(items: readonly T[], work: BatchWork<T, A>): Batch<T, A> {
  // One idempotency key per item: a retry after a lost response is not executed twice.
  const keys = new Map(items.map((item) => [item, randomKey()]));
  const plans = new Map<T, Plan>();
  const answers = new Map<T, A>();
  const left = () => items.filter((item) => !answers.has(item));
  return {
    preview: async () => {
      const fresh = await mapConcurrently(left(), atOnce, async (item) => {
        const plan = await work.preview(item);
        plans.set(item, plan);
        return plan;
      });
      return mergePlans(fresh);
    },
    execute: async () => {
      await mapConcurrently(left(), atOnce, async (item) => {
        const [plan, key] = [plans.get(item), keys.get(item)];
        if (!plan || !key) throw new Error('Only previewed items can be executed.');
        answers.set(item, await work.execute(item, { ifPlan: plan.fingerprint, key }));
      });
      return [...answers].map(([item, answer]) => ({ item, answer }));
    },
  };
}
