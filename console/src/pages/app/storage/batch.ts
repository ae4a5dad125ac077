import type { Plan } from '@svc/contract/plan.ts';
import { newKey } from '../../../api/new-key.ts';
import { mergePlans } from '../../../change/merge-plans.ts';
import { severalAtOnce } from '../files/several-at-once.ts';

export interface BatchWork<T, A> {
  preview(item: T): Promise<Plan>;
  execute(item: T, how: { ifPlan: string; key: string }): Promise<A>;
}

export interface Batch<T, A> {
  /** What is still to be done, as one plan. */
  preview(): Promise<Plan>;
  /** Each as it was previewed last. */
  execute(): Promise<{ item: T; answer: A }[]>;
}

const atOnce = 4;

/** Several changes of one kind. What was done before another part failed is neither previewed nor done again. */
export function newBatch<T, A>(items: readonly T[], work: BatchWork<T, A>): Batch<T, A> {
  // One key for all tries of one item: a try whose answer was lost is not done twice.
  const keys = new Map(items.map((item) => [item, newKey()]));
  const plans = new Map<T, Plan>();
  const answers = new Map<T, A>();
  const left = () => items.filter((item) => !answers.has(item));
  return {
    preview: async () => {
      const fresh = await severalAtOnce(left(), atOnce, async (item) => {
        const plan = await work.preview(item);
        plans.set(item, plan);
        return plan;
      });
      return mergePlans(fresh);
    },
    execute: async () => {
      await severalAtOnce(left(), atOnce, async (item) => {
        const [plan, key] = [plans.get(item), keys.get(item)];
        if (!plan || !key) throw new Error('Only what was previewed is done.');
        answers.set(item, await work.execute(item, { ifPlan: plan.fingerprint, key }));
      });
      return [...answers].map(([item, answer]) => ({ item, answer }));
    },
  };
}
