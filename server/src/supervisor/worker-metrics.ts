import { createMetricsSum } from '../core/sum-metrics.ts';
import type { Part } from './part.ts';

const answerMsMax = 2_000;

/** The metrics of all workers as one text. */
export function createWorkerMetrics(list: () => { number: number; part: Part }[]) {
  const { sum, addEnded } = createMetricsSum();
  /** What each worker has reported last. Of one that was killed, these counts stay in the sum, so that no sum goes back. */
  const last = new Map<Part, string>();
  return {
    async read(): Promise<string> {
      await Promise.all(
        list().map(async ({ part }) => {
          const text = await part.readMetrics(answerMsMax);
          if (text !== null) last.set(part, text);
        }),
      );
      const workers = list();
      const texts = workers.flatMap(({ number: worker, part }) => {
        const text = last.get(part);
        return text === undefined ? [] : [{ worker, text }];
      });
      const count = new Set(workers.map(({ number }) => number)).size;
      return `${sum(texts)}# HELP svc_workers Server processes that share the port.\n# TYPE svc_workers gauge\nsvc_workers ${count}\n`;
    },
    onLast: (part: Part, text: string) => void last.set(part, text),
    onExit(part: Part): void {
      const text = last.get(part);
      last.delete(part);
      if (text !== undefined) addEnded(text);
    },
  };
}
