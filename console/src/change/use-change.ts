import { ProblemError } from '@svc/contract/client.ts';
import type { Answer, Endpoint, Input, Shape } from '@svc/contract/endpoint.ts';
import { useState } from 'react';
import { client } from '../api/client.ts';
import { newKey } from '../api/new-key.ts';
import { tellAtField } from '../api/told-at-field.ts';
import { useTell } from '../parts/told.tsx';
import { usePropose } from './change-dialog.tsx';

export interface ChangeOptions<S extends Shape> {
  /** Of the dialog that shows what would happen. */
  title: string;
  /** On its button. */
  verb: string;
  /** Said when it is done. */
  done: string;
  onDone?: (answer: Answer<S>) => void;
}

export interface Change<S extends Shape> {
  /** Asks the server what would happen, and shows it, or not: then `problem` says why. Nothing is done before it is confirmed. */
  propose(input: Input<S>): Promise<boolean>;
  isBusy: boolean;
  /** Why it was refused, until the next try. */
  problem: unknown;
  /** What is wrong with a field of the form, as the server says it. */
  errorOf(field: string): string | undefined;
  clear(): void;
}

/** Every change of the console goes this way: preview, confirmation, execution of exactly that plan. */
export function useChange<S extends Shape>(endpoint: Endpoint<S>, options: ChangeOptions<S>): Change<S> {
  const open = usePropose();
  const tell = useTell();
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<unknown>(null);

  async function propose(input: Input<S>) {
    setBusy(true);
    setProblem(null);
    // One key for all tries of one confirmation: a try whose answer was lost is not done twice.
    const idempotencyKey = endpoint.method === 'POST' ? newKey() : undefined;
    const preview = async () => (await client.preview(endpoint, input)).plan;
    try {
      const plan = await preview();
      open({
        title: options.title,
        verb: options.verb,
        plan,
        previewAgain: preview,
        execute: async (ifPlan) => {
          const answer = await client.call(endpoint, input, {
            ifPlan,
            ...(idempotencyKey ? { idempotencyKey } : {}),
          });
          tell(options.done);
          options.onDone?.(answer);
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

  return {
    propose,
    isBusy,
    problem,
    errorOf: (field) => (problem instanceof ProblemError ? tellAtField(problem, field) : undefined),
    clear: () => setProblem(null),
  };
}
