import { logLineBytesMax } from '@svc/contract/deployments.ts';
import { findAppRow } from '../../apps/record/find-app.ts';
import type { Db } from '../../core/db.ts';
import { isRefused } from '../../drivers/os/listen.ts';
import type { LogSink } from '../../drivers/runtime/runtime.ts';
import { findLiveInstances } from '../deployments/instances-store.ts';
import { keepAwake } from '../deployments/processes.ts';
import { type SiteUrls, siteUrl } from '../static-sites/rules.ts';
import type { RunRow } from './run-records.ts';

/** Requests of schedules that an instance is answering: it is not stopped meanwhile. */
export interface CallTracker {
  count(address: string): number;
  begin(address: string): () => void;
}

export function createCallTracker(): CallTracker {
  const counts = new Map<string, number>();
  const add = (address: string, by: number) => {
    const count = (counts.get(address) ?? 0) + by;
    if (count === 0) counts.delete(address);
    else counts.set(address, count);
  };
  return {
    count: (address) => counts.get(address) ?? 0,
    begin(address) {
      add(address, 1);
      return () => add(address, -1);
    },
  };
}

interface CallDeps {
  db: Db;
  urls: SiteUrls;
  calls: CallTracker;
}

/** The edge removes all headers `x-svc-…` of visitors, so that an app can trust them. */
const scheduleHeader = 'x-svc-schedule';
const runHeader = 'x-svc-run';

const startMsMax = 60_000;
const pollMs = 250;
/** Less than the shortest time after which an app sleeps. */
const awakeEveryMs = 60_000;
const bodyBytesMax = 64 * 1024;

export const waitingText = 'No instance of the app listens yet; the request is sent as soon as one does.';

interface Call {
  log: LogSink;
  signal: AbortSignal;
}

/** Sends the POST request of a schedule to an instance of the app, once. Returns why it failed, or null. */
export async function callApp(deps: CallDeps, run: RunRow, call: Call): Promise<string | null> {
  await keepAwake(deps.db, run.app_id);
  const deadline = Date.now() + startMsMax;
  for (let tries = 0; ; tries++) {
    call.signal.throwIfAborted();
    const live = await findLiveInstances(deps.db, run.app_id);
    if (live === null) return 'The app does not run.';
    const address = live.addresses[tries % live.addresses.length];
    const result = address === undefined ? 'refused' : await post(deps, run, { ...call, address });
    if (result !== 'refused') return result;
    // An instance may be starting, after a sleep, a restart or a crash; the one before it may still be listed.
    if (Date.now() > deadline) return `No instance of the app listened within ${startMsMax / 1_000} seconds.`;
    if (tries === 0) call.log('platform', waitingText);
    await Bun.sleep(pollMs);
  }
}

/** `refused` if the app has received nothing, so that the request can be sent again. */
async function post(
  deps: CallDeps,
  run: RunRow,
  { address, log, signal }: Call & { address: string },
): Promise<string | null> {
  const late = AbortSignal.timeout(run.timeout_seconds * 1_000);
  const end = deps.calls.begin(address);
  const awake = setInterval(() => keepAwake(deps.db, run.app_id).catch(() => {}), awakeEveryMs);
  try {
    const answered = await fetch(`http://${address}${run.path}`, {
      method: 'POST',
      headers: await callHeaders(deps, run),
      body: JSON.stringify({
        schedule: run.schedule,
        run: run.id,
        due_at: run.due_at?.toISOString() ?? null,
      }),
      redirect: 'manual',
      signal: AbortSignal.any([signal, late]),
      keepalive: false,
      // HTTP_PROXY of the environment is not for requests to apps.
      proxy: false,
      timeout: false,
    } as RequestInit);
    for (const line of await readStart(answered)) log('stdout', line);
    const result = `POST ${run.path} was answered with status ${answered.status}.`;
    if (!answered.ok) return result;
    log('platform', result);
    return null;
  } catch (error) {
    signal.throwIfAborted();
    if (late.aborted) return `POST ${run.path} was not answered within ${run.timeout_seconds} seconds.`;
    if (isRefused(error)) return 'refused';
    if (isClosed(error))
      return `POST ${run.path} failed: the app closed the connection before it had answered; it is not run again.`;
    return `POST ${run.path} failed: ${error instanceof Error ? error.message : String(error)}`;
  } finally {
    clearInterval(awake);
    end();
  }
}

const isClosed = (error: unknown) => error instanceof Error && 'code' in error && error.code === 'ECONNRESET';

async function callHeaders({ db, urls }: CallDeps, run: RunRow): Promise<Record<string, string>> {
  const app = await findAppRow(db, run.tenant_id, run.app_id);
  const site = siteUrl(urls, app?.subdomain ?? null, 'active');
  const { host, protocol } = new URL(site ?? urls.baseUrl);
  return {
    host,
    'content-type': 'application/json',
    'user-agent': 'svc-schedule',
    'x-forwarded-host': host,
    'x-forwarded-proto': protocol.slice(0, -1),
    'x-request-id': run.id,
    [scheduleHeader]: run.schedule ?? '',
    [runHeader]: run.id,
  };
}

/** The first lines of the answer, for the log. The rest is read and dropped. */
async function readStart(answered: Response): Promise<string[]> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of (answered.body ?? []) as AsyncIterable<Uint8Array>) {
    if (bytes < bodyBytesMax) parts.push(part.subarray(0, bodyBytesMax - bytes));
    bytes += part.length;
  }
  const text = Buffer.concat(parts).toString();
  return text === ''
    ? []
    : text
        .replace(/\n$/, '')
        .split('\n')
        .map((line) => line.slice(0, logLineBytesMax));
}
