import { z } from 'zod';
import { Failure, fail } from '../../plumbing/problem.ts';
import { ErrorAnswer } from './answers.ts';

export const answerMsMax = 10_000;
const answerBytesMax = 32 * 1024 * 1024;

/** Each question is answered in time or not at all. Nothing is asked again by itself. */
export const boundedFetch: (input: string | URL | Request, init?: RequestInit) => Promise<Response> = async (
  input,
  init,
) => {
  const late = AbortSignal.timeout(answerMsMax);
  const signal = init?.signal ? AbortSignal.any([init.signal, late]) : late;
  const answer = await fetch(input, { ...init, signal });
  if (Number(answer.headers.get('content-length') ?? 0) > answerBytesMax) {
    await answer.body?.cancel();
    throw new Error('The answer is too long.');
  }
  return answer.body === null ? answer : new Response(answer.body.pipeThrough(counted()), answer);
};

/** Not every answer says how long it is, and one that is packed says less. */
function counted(): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0;
  return new TransformStream({
    transform(piece, controller) {
      bytes += piece.byteLength;
      if (bytes > answerBytesMax) controller.error(new Error('The answer is too long.'));
      else controller.enqueue(piece);
    },
  });
}

/** The host has refused: with which status, and in which words. */
export class HostRefusal extends Error {
  constructor(
    readonly status: number,
    readonly answer: z.output<typeof ErrorAnswer>,
  ) {
    super(`${status} ${answer.message}`);
    this.name = 'HostRefusal';
  }
}

/**
 * One question and its answer, parsed. What the host refuses rejects with `HostRefusal`; that it can not be asked, or
 * answers with something else than it should, with `git_host_unavailable`.
 */
export async function askHost<T extends z.ZodType>(
  shape: T,
  question: () => Promise<{ data: unknown }>,
): Promise<z.output<T>> {
  let answer: { data: unknown };
  try {
    answer = await question();
  } catch (error) {
    throw refusalOf(error);
  }
  const parsed = shape.safeParse(answer.data);
  if (!parsed.success) throw unavailable('it answers with something else than a git host does.');
  return parsed.data;
}

/** The same, where what is not there, or not for us, is null. */
export async function askForSome<T extends z.ZodType>(
  shape: T,
  question: () => Promise<{ data: unknown }>,
  absent: readonly number[] = [403, 404],
): Promise<z.output<T> | null> {
  try {
    return await askHost(shape, question);
  } catch (error) {
    if (error instanceof HostRefusal && absent.includes(error.status)) return null;
    throw error;
  }
}

export function unavailable(detail: string): Failure {
  return fail('git_host_unavailable', { detail: `The git host can not be asked: ${detail}` });
}

/** An error of Octokit's that came with an answer. It holds the question too, with its secrets: it goes nowhere. */
const Answered = z.object({
  response: z.object({ status: z.int(), headers: z.record(z.string(), z.unknown()), data: z.unknown() }),
});

/** What the host said where it said something. */
export function answerOf(error: unknown): z.output<typeof Answered>['response'] | null {
  const parsed = error instanceof Error ? Answered.safeParse(error) : null;
  return parsed?.success ? parsed.data.response : null;
}

function refusalOf(error: unknown): Error {
  if (error instanceof Failure) return error;
  const answer = answerOf(error);
  if (!answer) return unavailable('it can not be reached.');
  const { status, headers, data } = answer;
  const parsed = ErrorAnswer.safeParse(data);
  if (status >= 500) return unavailable(`it answers ${status}.`);
  if (!parsed.success) return unavailable(`it answers ${status}, and not as a git host does.`);
  const isSpent = headers['x-ratelimit-remaining'] === '0' || headers['retry-after'] !== undefined;
  if (status === 429 || (status === 403 && isSpent)) return unavailable('it was asked too often.');
  return new HostRefusal(status, parsed.data);
}
