import type { Answer, Endpoint, Input, Shape } from '@svc/contract/endpoint.ts';
import { useState } from 'react';
import { client } from '../../../api/client.ts';
import { usePropose } from '../../../change/change-dialog.tsx';
import { useTell } from '../../../parts/told.tsx';
import { newBatch } from './batch.ts';

export interface BatchOptions<S extends Shape, T> {
  title: string;
  verb: string;
  done: (items: readonly T[]) => string;
  input: (item: T) => Input<S>;
  onDone?: (answers: { item: T; answer: Answer<S> }[]) => void;
}

/** Several changes of one kind, shown as one plan and confirmed together; each is executed as it was previewed. */
export function useBatch<S extends Shape, T>(endpoint: Endpoint<S>, options: BatchOptions<S, T>) {
  const open = usePropose();
  const tell = useTell();
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<unknown>(null);

  async function propose(items: readonly T[]): Promise<boolean> {
    setBusy(true);
    setProblem(null);
    try {
      const batch = newBatch(items, {
        preview: async (item) => (await client.preview(endpoint, options.input(item))).plan,
        execute: (item, { ifPlan, key }) =>
          client.call(endpoint, options.input(item), {
            ifPlan,
            ...(endpoint.method === 'POST' ? { idempotencyKey: key } : {}),
          }),
      });
      open({
        title: options.title,
        verb: options.verb,
        plan: await batch.preview(),
        previewAgain: batch.preview,
        execute: async () => {
          const answers = await batch.execute();
          tell(options.done(items));
          options.onDone?.(answers);
        },
      });
      return true;
    } catch (error) {
      setProblem(error);
      return false;
    } finally {
      setBusy(false);
    }
  }

  return { propose, isBusy, problem, clear: () => setProblem(null) };
}
