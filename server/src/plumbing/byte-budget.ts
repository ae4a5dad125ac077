import { fail } from './problem.ts';

/**
 * How much all large requests together may keep in memory. Who would go beyond waits until others are done, except the
 * one that began first: so somebody always goes on. One owner gets half of it at most, so that who sends much and slowly
 * holds up themself.
 */
export interface ByteBudget {
  open(owner: string): Account;
}

export interface Account {
  /** Waits until so much more may be kept. */
  take(bytes: number): Promise<void>;
  close(): void;
}

export function createByteBudget(options: { bytesMax: number; waitMsMax: number }): ByteBudget {
  /** In the order in which they began. */
  const accounts = new Set<{ owner: string; bytes: number }>();
  const waiting = new Set<() => boolean>();
  let total = 0;

  function admitWaiting(): void {
    for (const tryAgain of waiting) if (tryAgain()) waiting.delete(tryAgain);
  }

  return {
    open(owner) {
      const account = { owner, bytes: 0 };
      accounts.add(account);
      const isFirst = () => accounts.values().next().value === account;
      const fits = (bytes: number) => {
        if (isFirst()) return true;
        const own = [...accounts].filter((each) => each.owner === owner);
        const ownBytes = own.reduce((sum, each) => sum + each.bytes, bytes);
        return total + bytes <= options.bytesMax && (own[0] === account || ownBytes <= options.bytesMax / 2);
      };
      const add = (bytes: number) => {
        account.bytes += bytes;
        total += bytes;
      };
      return {
        async take(bytes) {
          if (fits(bytes)) {
            add(bytes);
            return;
          }
          const { promise, resolve, reject } = Promise.withResolvers<void>();
          const tryAgain = () => {
            if (!fits(bytes)) return false;
            add(bytes);
            resolve();
            return true;
          };
          waiting.add(tryAgain);
          const timer = setTimeout(() => {
            waiting.delete(tryAgain);
            reject(fail('unavailable', { detail: 'Too much is being sent at once; try again.' }));
          }, options.waitMsMax);
          await promise.finally(() => clearTimeout(timer));
        },
        close() {
          if (!accounts.delete(account)) return;
          total -= account.bytes;
          admitWaiting();
        },
      };
    },
  };
}
