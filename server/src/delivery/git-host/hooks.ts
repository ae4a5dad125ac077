import { createHmac } from 'node:crypto';
import type { Logger } from 'pino';
import type { Db } from '../../core/db.ts';
import { createLeasedWorker, type LeasedWorker } from '../../core/jobs.ts';
import { declareSealingKey } from '../../core/keys.ts';
import { seal, sealingKey, unseal } from '../../core/seal.ts';
import {
  type ClaimedDelivery,
  claimDelivery,
  finishDelivery,
  hasDueDelivery,
  listHooksWithSecret,
  renewDelivery,
  replaceHookSecret,
} from './host-store.ts';

export const hookKey = declareSealingKey({
  name: 'git_host.hook_key',
  protects: 'Secrets of webhooks at the built-in git host',
  columns: { 'git_host_hooks.secret_sealed': "'git-host hook of ' || repo_id" },
});

export const hookSecretContext = (repoId: number) => `git-host hook of ${repoId}`;

/** The platform's own hooks have a copy of its webhook secret. */
export async function replaceHookSecrets(
  db: Db,
  { previous, current }: { previous: readonly string[]; current: string },
): Promise<void> {
  const key = await sealingKey(db, hookKey);
  for (const row of await listHooksWithSecret(db)) {
    const boundTo = hookSecretContext(row.repo_id);
    if (!previous.includes(unseal(key, { sealed: row.secret_sealed, boundTo }))) continue;
    await replaceHookSecret(db, row, seal(key, { text: current, boundTo }));
  }
}

const responseMsMax = 10_000;
const leaseSeconds = 15;
const retryDelaysSeconds = [1, 5, 30, 120, 600, 3600, 6 * 3600];

interface DeliveryDeps {
  db: Db;
  log: Logger;
  own: { baseUrl: string; internalUrl: string };
}

export function createHookDeliveries(deps: DeliveryDeps): LeasedWorker {
  return createLeasedWorker<ClaimedDelivery>({
    name: 'git-host.deliveries',
    log: deps.log,
    claim: () => claimDelivery(deps.db, leaseSeconds),
    hasOpenWork: () => hasDueDelivery(deps.db),
    renew: ({ id }) => renewDelivery(deps.db, id, leaseSeconds),
    async work(delivery, signal) {
      const status = await deliver(deps, delivery, signal);
      signal.throwIfAborted();
      const isDone = status !== null && status >= 200 && status < 300;
      const retryInSeconds = isDone ? null : (retryDelaysSeconds[delivery.attempts - 1] ?? null);
      await finishDelivery(deps.db, delivery.id, { status, retryInSeconds });
    },
    concurrencyMax: 8,
    pollMs: 1_000,
    renewMs: 5_000,
  });
}

async function deliver({ db, log, own }: DeliveryDeps, delivery: ClaimedDelivery, signal: AbortSignal) {
  const body = encodeBody(delivery);
  try {
    const answer = await fetch(toInternalUrl(delivery.url, own), {
      method: 'POST',
      // A redirect could lead to a host that the hook's owner did not name.
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(responseMsMax)]),
      headers: { ...deliveryHeaders(delivery), ...(await signatureHeader(db, delivery, body)) },
      body,
    });
    await answer.body?.cancel();
    return answer.status;
  } catch (error) {
    if (!signal.aborted)
      log.info({ hook: delivery.hook_id, reason: String(error) }, 'webhook delivery failed');
    return null;
  }
}

function toInternalUrl(url: string, { baseUrl, internalUrl }: DeliveryDeps['own']): string {
  return url.startsWith(`${baseUrl}/`) ? internalUrl + url.slice(baseUrl.length) : url;
}

function encodeBody({ payload, content_type }: ClaimedDelivery): string {
  return content_type === 'json' ? payload : new URLSearchParams({ payload }).toString();
}

function deliveryHeaders(delivery: ClaimedDelivery): Record<string, string> {
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

async function signatureHeader(db: Db, hook: ClaimedDelivery, body: string): Promise<Record<string, string>> {
  if (hook.secret_sealed === null) return {};
  const secret = unseal(await sealingKey(db, hookKey), {
    sealed: hook.secret_sealed,
    boundTo: hookSecretContext(hook.repo_id),
  });
  return { 'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}` };
}
