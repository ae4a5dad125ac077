import { isCode } from '../../../../api/query-client.ts';
import { severalAtOnce } from '../../files/several-at-once.ts';
import type { RawRow } from './raw-json.ts';
import type { ReadRow } from './rows-api.ts';

export interface DeleteWork {
  /** The row as it was shown to who deletes it; undefined: it is not in sight. */
  shown(id: string): RawRow | undefined;
  read(id: string): Promise<ReadRow>;
  remove(id: string, etag: string): Promise<void>;
  onGone(id: string): void;
}

const atOnce = 4;

/** Deletes rows that still are as they were shown, and answers which are not: those stay. */
export async function deleteRows(ids: readonly string[], work: DeleteWork): Promise<string[]> {
  const changed: string[] = [];
  await severalAtOnce(ids, atOnce, async (id) => {
    try {
      const { row, etag } = await work.read(id);
      if (!isAsShown(work.shown(id), row)) {
        changed.push(id);
        return;
      }
      await work.remove(id, etag);
    } catch (error) {
      if (isCode(error, 'precondition_failed')) {
        changed.push(id);
        return;
      }
      // Somebody else was quicker; what was wanted is so.
      if (!isCode(error, 'not_found')) throw error;
    }
    work.onGone(id);
  });
  return changed;
}

const isAsShown = (shown: RawRow | undefined, now: RawRow) =>
  [...(shown ?? [])].every(([column, json]) => now.get(column) === json);
