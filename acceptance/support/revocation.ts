import { Tally } from './rows.ts';
import { until } from './until.ts';

/** The promise: this long after the removal was confirmed, nothing works any more, however busy the machine is. */
const withinMs = 1_000;
/** A client that is refused so often in a row, in each kind of request, is out. */
const refusalsInRow = 5;

/** `works`, `refused`, or the answer that is neither. */
type Ask = () => Promise<string>;

interface Load {
  /** The requests that each client repeats in turn. */
  clients: readonly (readonly Ask[])[];
  /** Takes the right away; resolves with the confirmation. */
  remove: () => Promise<unknown>;
}

/**
 * Removes a right while clients use it. Each client goes on until it is refused, and asks once more a second after the
 * removal. A request counts from when it was sent: on a busy machine its answer may arrive much later. A busy server may
 * answer 503, which is no success.
 */
export async function revokeUnderLoad({ clients, remove }: Load) {
  const odd = new Tally();
  let successes = 0;
  let refusals = 0;
  let late = 0;
  let lastSuccessAt = 0;
  let removedAt = Number.POSITIVE_INFINITY;
  const removed = Promise.withResolvers<void>();
  const isRefused = async (ask: Ask): Promise<boolean> => {
    const sentAt = performance.now();
    const answer = await ask();
    if (answer === 'works') {
      successes += 1;
      lastSuccessAt = Math.max(lastSuccessAt, sentAt);
      if (sentAt > removedAt + withinMs) late += 1;
    } else if (answer === 'refused') refusals += 1;
    else if (!answer.startsWith('503')) odd.add(answer);
    return answer === 'refused';
  };
  const running = clients.map(async (asks) => {
    let inRow = 0;
    for (let turn = 0; inRow < asks.length * refusalsInRow && late === 0; turn++)
      inRow = (await isRefused(asks[turn % asks.length]!)) ? inRow + 1 : 0;
    await removed.promise;
    await Bun.sleep(Math.max(0, removedAt + withinMs - performance.now()));
    for (const ask of asks) await until('the server has time', async () => (await isAnswered(ask)) !== null);
  });
  /** Whether the request is refused; a success by now is late. */
  async function isAnswered(ask: Ask): Promise<boolean | null> {
    const before = successes;
    if (await isRefused(ask)) return true;
    if (successes === before) return null;
    late += 1;
    return false;
  }
  try {
    await until('every client has been served', async () => successes >= 3 * clients.length);
    await remove();
  } finally {
    removedAt = performance.now();
    removed.resolve();
  }
  await Promise.all(running);
  return {
    successes,
    refusals,
    odd: odd.counts,
    late,
    lastMs: Math.max(0, Math.round(lastSuccessAt - removedAt)),
  };
}
