import { createLeasedWorker, type LeasedWorker } from '../plumbing/leased-work.ts';
import { carryOut } from './carry-out.ts';
import { LostDeployment } from './deployment-failure.ts';
import type { DeploymentParts, OpenLog } from './deployment-parts.ts';
import { environmentKept } from './environment-kept.ts';
import type { Instances } from './instances.ts';
import { renewEveryMs, tenantsWithMost } from './rules.ts';
import { secretsOf } from './secrets-of.ts';
import { type Claimed, claimDeployment, isAnyOpen, letGo, renewLease } from './work-store.ts';

export interface DeploymentWorker extends LeasedWorker {
  /** Somebody may have canceled one that is under way here. */
  lookForCancels(): Promise<void>;
}

const lookEveryMs = 1_000;

export function createDeploymentWorker(parts: DeploymentParts, instances: Instances): DeploymentWorker {
  const { db, log, atOnceMax } = parts;
  const cancels = new Map<Claimed, AbortController>();
  const stopping = new AbortController();
  /** Who has a place to build in. */
  const building = new Set<Claimed>();
  /** Who is worked on at all. */
  const claims = new Set<Claimed>();
  /** Of each deployment, what this copy does for it: after a time without the database it may claim its own once more. */
  const underWay = new Map<string, { leave: AbortController; done: Promise<void> }>();

  const renew = async (claimed: Claimed): Promise<boolean> => {
    const held = await renewLease(db, claimed);
    if (held === 'cancel_asked') cancels.get(claimed)?.abort(new Error('It was canceled.'));
    return held !== 'lost';
  };

  async function workOn(claimed: Claimed, leased: AbortSignal): Promise<void> {
    const cancel = new AbortController();
    cancels.set(claimed, cancel);
    const isBuilt = () => {
      if (building.delete(claimed)) worker.wake();
    };
    const { appId, id: deploymentId } = claimed;
    const signal = AbortSignal.any([leased, cancel.signal]);
    let open: OpenLog | null = null;
    try {
      const secrets = secretsOf(await environmentKept({ parts, claimed }));
      open = parts.logs.open({ appId, deploymentId, source: 'build', secrets });
      await carryOut({ parts, instances, claimed, log: open, signal, canceled: cancel.signal, isBuilt });
    } catch (error) {
      if (!(error instanceof LostDeployment)) throw error;
    } finally {
      cancels.delete(claimed);
      await open?.close();
      // A copy that is asked to stop says so; one whose lease was lost has nothing to give back.
      if (stopping.signal.aborted) await letGo(db, claimed).catch(() => {});
    }
  }

  async function claim(): Promise<Claimed | null> {
    const claimed = await claimDeployment(db, {
      wanted: building.size < atOnceMax.builds ? 'all' : 'built',
      notOf: tenantsWithMost([...claims], atOnceMax.all),
    });
    if (!claimed) return null;
    claims.add(claimed);
    if (claimed.isToBeBuilt) building.add(claimed);
    return claimed;
  }

  const worker: LeasedWorker = createLeasedWorker<Claimed>({
    ...{ name: 'deployments', log, atOnceMax: atOnceMax.all, lookEveryMs, renewEveryMs, renew, claim },
    isAnyOpen: () => isAnyOpen(db),
    async work(claimed, leased) {
      const before = underWay.get(claimed.id);
      const leave = new AbortController();
      const done = (async () => {
        // Two at work on one deployment would undo each other's files.
        before?.leave.abort(new LostDeployment());
        await before?.done.catch(() => {});
        await workOn(claimed, AbortSignal.any([leased, leave.signal]));
      })();
      underWay.set(claimed.id, { leave, done });
      try {
        await done;
      } finally {
        claims.delete(claimed);
        building.delete(claimed);
        if (underWay.get(claimed.id)?.done === done) underWay.delete(claimed.id);
      }
    },
  });
  return {
    ...worker,
    async lookForCancels() {
      for (const claimed of [...cancels.keys()]) await renew(claimed);
    },
    async stop() {
      stopping.abort();
      await worker.stop();
    },
  };
}
