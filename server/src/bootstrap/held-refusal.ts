import { Failure } from '../plumbing/problem.ts';

/**
 * What was found out before the transaction, or why it is refused. The refusal is kept until the change itself is made:
 * a repeated request, whose name is taken by what it made itself, is answered from memory before that.
 */
export type Held<T> = { value: T } | { refusal: Failure };

export async function held<T>(asking: Promise<T>): Promise<Held<T>> {
  try {
    return { value: await asking };
  } catch (error) {
    if (error instanceof Failure) return { refusal: error };
    throw error;
  }
}

export function opened<T>(it: Held<T>): T {
  if ('refusal' in it) throw it.refusal;
  return it.value;
}
