import type { Answer, Endpoint, Input, Shape } from '@svc/contract/endpoint.ts';
import { client } from '../api/client.ts';
import { useToast } from '../components/toasts.tsx';
import { newBatch } from './batch.ts';
import { usePropose } from './change-dialog.tsx';
import { useTask } from './use-change.ts';

interface BatchOptions<S extends Shape, T> {
  title: string;
  done: (items: readonly T[]) => string;
  input: (item: T) => Input<S>;
  onDone?: (answers: { item: T; answer: Answer<S> }[]) => void;
}

export function useBatch<S extends Shape, T>(endpoint: Endpoint<S>, options: BatchOptions<S, T>) {
  const open = usePropose();
  const showToast = useToast();
  const { run, ...task } = useTask();
  return {
    ...task,
    propose: (items: readonly T[]) =>
      run(async () => {
        const batch = newBatch(items, {
          preview: async (item) => (await client.preview(endpoint, options.input(item))).plan,
          execute: (item, { ifPlan, key }) =>
            client.call(endpoint, options.input(item), {
              ifPlan,
              idempotencyKey: endpoint.method === 'POST' ? key : undefined,
            }),
        });
        open({
          title: options.title,
          plan: await batch.preview(),
          previewAgain: batch.preview,
          execute: async () => {
            const answers = await batch.execute();
            showToast(options.done(items));
            options.onDone?.(answers);
          },
        });
      }),
  };
}
