import { changesKeptHours } from '@svc/contract/rows.ts';
import { decrypt, encrypt } from '../../core/cipher.ts';
import type { LiveKey } from '../../core/keys.ts';
import { sha256 } from '../../core/values.ts';

/**
 * How far a feed has been read: all changes that the snapshot `from` contains, and of those that `to` contains as well, those up to
 * `seq`. Changes in the order of their numbers alone could be missed: one with a lower number may be committed later.
 */
export interface FeedPosition {
  from: string;
  to: string | null;
  seq: string | null;
  /** When `from` was taken, in seconds, by the clock of the database. */
  takenAt: number;
}

export type FeedPositions = ReturnType<typeof createFeedPositions>;

/** Encrypted: numbers of changes and transactions would tell how much happens to rows that the caller does not see. */
export function createFeedPositions(key: LiveKey<string>) {
  const bytesOf = (value: string) => Buffer.from(sha256(`changes ${value}`), 'hex');
  let [derived, derivedFrom] = [bytesOf(key.current()), key.current()];
  return {
    /** `boundTo` describes what the caller sees and asked for. */
    write({ from, to, seq, takenAt }: FeedPosition, boundTo: string): string {
      if (key.current() !== derivedFrom) [derived, derivedFrom] = [bytesOf(key.current()), key.current()];
      const text = [takenAt.toString(36), from, ...(to === null ? [] : [to, seq ?? ''])].join(' ');
      return encrypt(derived, { text, boundTo }).toString('base64url');
    },
    /** Null if the position is too old, or the caller sees or asks for something else by now. */
    read(id: string, boundTo: string, now: number): FeedPosition | null {
      const bytes = Buffer.from(id, 'base64url');
      for (const value of key.accepted()) {
        try {
          const [takenAt = '', from = '', to = null, seq] = decrypt(bytesOf(value), { bytes, boundTo }).split(
            ' ',
          );
          const position = { from, to, seq: seq || null, takenAt: Number.parseInt(takenAt, 36) };
          return now - position.takenAt <= changesKeptHours * 3600 ? position : null;
        } catch {}
      }
      return null;
    },
  };
}

/** Of two snapshots `xmin:xmax:running,…` of one database: the later one contains all that the other one does. */
export function isLater(one: string, other: string): boolean {
  const [a, b] = [extent(one), extent(other)];
  return a.end === b.end ? a.running < b.running : a.end > b.end;
}

function extent(snapshot: string): { end: bigint; running: number } {
  const [, end = '0', running = ''] = snapshot.split(':');
  return { end: BigInt(end), running: running === '' ? 0 : running.split(',').length };
}
