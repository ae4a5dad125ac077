import { createHmac } from 'node:crypto';
import type { Logger } from 'pino';
import type { Db } from '../plumbing/db.ts';
import { createLeasedWorker, type LeasedWorker } from '../plumbing/leased-work.ts';
import { unseal } from '../plumbing/seal.ts';
import { type ClaimedDelivery, claimDelivery, endDelivery, isAnyOpen, renewDelivery } from './hooks-store.ts';

const answerMsMax = 10_000;
const leaseSeconds = 15;
/** How long to wait after each attempt that failed; after the last it is given up. */
const againInSeconds = [1, 5, 30, 120, 600, 3600, 6 * 3600];

export interface DeliveryParts {
  db: Db;
  hookKey: Buffer;
  log: Logger;
  /** The platform's own address as people know it, and where this copy of the server reaches it whatever stands in front. */
  own: { baseUrl: string; reachedAt: string };
}

/** Tells those who asked for it what happened in a repository: at least once, signed, and again where that fails. */
export function createHookDeliveries(parts: DeliveryParts): LeasedWorker {
  return createLeasedWorker<ClaimedDelivery>({
    name: 'git-host.deliveries',
    log: parts.log,
    claim: () => claimDelivery(parts.db, leaseSeconds),
    isAnyOpen: () => isAnyOpen(parts.db),
    renew: ({ id }) => renewDelivery(parts.db, id, leaseSeconds),
    async work(delivery, signal) {
      const status = await deliver(parts, delivery, signal);
      signal.throwIfAborted();
      const isDone = status !== null && status >= 200 && status < 300;
      const againIn = isDone ? null : (againInSeconds[delivery.attempts - 1] ?? null);
      await endDelivery(parts.db, delivery.id, { status, againIn });
    },
    atOnceMax: 8,
    lookEveryMs: 1_000,
    renewEveryMs: 5_000,
  });
}

/** Null: there was no answer. */
async function deliver(
  { hookKey, log, own }: DeliveryParts,
  delivery: ClaimedDelivery,
  signal: AbortSignal,
): Promise<number | null> {
  const body = bodyOf(delivery);
  try {
    const answer = await fetch(reachable(delivery.url, own), {
      method: 'POST',
      // Whoever asked for the hook named where it is to go.
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(answerMsMax)]),
      headers: { ...headersOf(delivery), ...signatureOf(hookKey, delivery, body) },
      body,
    });
    await answer.body?.cancel();
    return answer.status;
  } catch (error) {
    if (!signal.aborted) log.info({ hook: delivery.hook_id, why: String(error) }, 'a hook did not answer');
    return null;
  }
}

function reachable(url: string, { baseUrl, reachedAt }: DeliveryParts['own']): string {
  return url.startsWith(`${baseUrl}/`) ? reachedAt + url.slice(baseUrl.length) : url;
}

function bodyOf({ payload, content_type }: ClaimedDelivery): string {
  return content_type === 'json' ? payload : new URLSearchParams({ payload }).toString();
}

function headersOf(delivery: ClaimedDelivery): Record<string, string> {
  const form = 'application/x-www-form-urlencoded';
  return {
    'content-type': delivery.content_type === 'json' ? 'application/json' : form,
    'user-agent': 'GitHub-Hookshot/svc',
    'x-github-event': delivery.event,
    'x-github-delivery': delivery.id,
    'x-github-hook-id': String(delivery.hook_id),
    'x-github-hook-installation-target-id': String(delivery.repo_id),
    'x-github-hook-installation-target-type': 'repository',
  };
}

/** What the secret of a hook is bound to. */
export function hookSeal(repoId: number): string {
  return `git-host hook of ${repoId}`;
}

function signatureOf(key: Buffer, hook: ClaimedDelivery, body: string): Record<string, string> {
  if (hook.secret_sealed === null) return {};
  const secret = unseal(key, { sealed: hook.secret_sealed, boundTo: hookSeal(hook.repo_id) });
  return { 'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}` };
}
