import { ProblemError } from '@svc/contract/client.ts';
import type { Answer, Endpoint, Input, Shape } from '@svc/contract/endpoint.ts';
import { useState } from 'react';
import { client, randomKey } from '../api/client.ts';
import { takeFieldError } from '../api/field-errors.ts';
import { useToast } from '../components/toasts.tsx';
import { usePropose } from './change-dialog.tsx';

export interface ChangeOptions<S extends Shape> {
  title: string;
  /** Label of the confirming button; the first word of the title by default. */
  verb?: string;
  done: string;
  onDone?: (answer: Answer<S>) => void;
}

export function useChange<S extends Shape>(endpoint: Endpoint<S>, options: ChangeOptions<S>) {
  const open = usePropose();
  const showToast = useToast();
  const { run, ...task } = useTask();
  return {
    ...task,
    propose: (input: Input<S>) =>
      run(async () => {
        const idempotencyKey = endpoint.method === 'POST' ? randomKey() : undefined;
        const preview = async () => (await client.preview(endpoint, input)).plan;
        open({
          title: options.title,
          verb: options.verb,
          plan: await preview(),
          previewAgain: preview,
          execute: async (ifPlan) => {
            const answer = await client.call(endpoint, input, { ifPlan, idempotencyKey });
            showToast(options.done);
            options.onDone?.(answer);
          },
        });
      }),
    errorOf: (field: string) =>
      task.problem instanceof ProblemError ? takeFieldError(task.problem, field) : undefined,
  };
}

export function useTask() {
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<unknown>(null);

  async function run(work: () => Promise<void>): Promise<boolean> {
    setBusy(true);
    setProblem(null);
    try {
      await work();
      return true;
    } catch (error) {
      setProblem(error);
      return false;
    } finally {
      setBusy(false);
    }
  }
  return { run, isBusy, problem, clear: () => setProblem(null) };
}
