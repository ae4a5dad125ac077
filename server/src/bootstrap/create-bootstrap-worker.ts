import type { Invalidation } from '../plumbing/invalidation.ts';
import { createLeasedWorker, type LeasedWorker } from '../plumbing/leased-work.ts';
import { type BootstrapParts, workTag } from './bootstrap-parts.ts';
import { claimRun, isAnyOpen, renewClaim } from './claim-store.ts';
import { giveUpUnapproved } from './give-up-unapproved.ts';
import { workOnRun } from './work-on-run.ts';

const atOnceMax = 4;
const lookEveryMs = 1_000;
const renewEveryMs = 5_000;

/** One per copy of the server; together they see to it that every run ends. */
export function createBootstrapWorker(
  parts: BootstrapParts,
  { invalidation }: { invalidation?: Pick<Invalidation, 'onChange'> } = {},
): LeasedWorker {
  const worker = createLeasedWorker({
    name: 'bootstraps',
    log: parts.log,
    claim: async () => {
      const claim = await claimRun(parts.db);
      if (!claim) await giveUpUnapproved(parts);
      return claim;
    },
    isAnyOpen: () => isAnyOpen(parts.db),
    renew: (claim) => renewClaim(parts.db, claim),
    work: (claim, signal) => workOnRun(parts, claim, signal),
    atOnceMax,
    lookEveryMs,
    renewEveryMs,
  });
  invalidation?.onChange((tag) => {
    // Null: something may have been missed.
    if (tag === workTag || tag === null) worker.wake();
  });
  return worker;
}
