import { X509Certificate } from 'node:crypto';
import type { Authorization, Client, Order } from 'acme-client';

export interface CertificateAuthority {
  name: string;
  check(): Promise<void>;
  order(order: CertificateOrder): Promise<IssuedCertificate>;
}

export interface CertificateOrder {
  host: string;
  /** After this, every replica must serve the text at `http://<host>/.well-known/acme-challenge/<token>`. */
  publish(challenge: { token: string; text: string }): Promise<void>;
  signal: AbortSignal;
}

export interface IssuedCertificate {
  chain: string;
  key: string;
  notBefore: Date;
  notAfter: Date;
}

export type OrderErrorReason =
  | 'authority_unreachable'
  | 'authority_error'
  | 'rate_limited'
  | 'host_refused'
  | 'caa_forbids'
  | 'challenge_failed';

export class OrderError extends Error {
  constructor(
    readonly reason: OrderErrorReason,
    text: string,
    readonly retryAt: Date | null = null,
  ) {
    super(text.replace(/\s+/g, ' ').trim().slice(0, 500));
    this.name = 'OrderFailure';
  }
}

export interface AcmeConfig {
  directory: string;
  email: string | null;
  caFile: string | null;
}

interface AcmeOptions {
  directory: string;
  email: string | undefined;
  trusted: string | undefined;
}

const orderMsMax = 90_000;
const checkMsMax = 5_000;
const pollMsFirst = 250;
const pollMsMax = 5_000;
/** An authority may retry a failed challenge by itself, so only this many failures count. */
const failuresMax = 3;

export function openAcmeAuthority(
  options: AcmeOptions & { accountKey: () => Promise<string> },
): CertificateAuthority {
  return {
    name: options.directory,
    async check() {
      const carry = createAcmeTransport({ ...options, signal: AbortSignal.timeout(checkMsMax) });
      const { data } = await carry(options.directory, 'get');
      if (typeof data !== 'object' || data === null || !('newOrder' in data))
        throw new OrderError('authority_error', `${options.directory} is not an ACME directory.`);
    },
    async order(order) {
      const signal = AbortSignal.any([order.signal, AbortSignal.timeout(orderMsMax)]);
      const client = await openClient(options, createAcmeTransport({ ...options, signal }));
      let publishFailed = false;
      const publish: CertificateOrder['publish'] = (challenge) =>
        order.publish(challenge).catch((error: unknown) => {
          publishFailed = true;
          throw error;
        });
      try {
        return await orderCertificate(client, { ...order, publish, signal }, options.email);
      } catch (error) {
        if (error instanceof OrderError || publishFailed) throw error;
        throw new OrderError('authority_error', error instanceof Error ? error.message : String(error));
      }
    },
  };
}

const loadAcmeClient = async () => (await import('acme-client')).default;

async function openClient(
  options: AcmeOptions & { accountKey: () => Promise<string> },
  transport: AcmeTransport,
): Promise<Client> {
  const client = new (await loadAcmeClient()).Client({
    directoryUrl: options.directory,
    accountKey: await options.accountKey(),
  });
  // This property is not in the library's types; the tests with a real authority notice if it changes.
  (client as unknown as { http: { request: AcmeTransport } }).http.request = transport;
  return client;
}

async function orderCertificate(
  client: Client,
  { host, publish, signal }: CertificateOrder,
  email: string | undefined,
): Promise<IssuedCertificate> {
  await client.createAccount({
    termsOfServiceAgreed: true,
    ...(email === undefined ? {} : { contact: [`mailto:${email}`] }),
  });
  const order = await client.createOrder({ identifiers: [{ type: 'dns', value: host }] });
  for (const authorization of await client.getAuthorizations(order)) {
    if (authorization.status === 'pending') await answerChallenge(client, authorization, publish);
  }
  await waitForAuthorization(client, order, signal);
  const { crypto } = await loadAcmeClient();
  const [key, csr] = await crypto.createCsr(
    { altNames: [host] },
    await crypto.createPrivateEcdsaKey('P-256'),
  );
  const finalized = await client.finalizeOrder(order, csr);
  const chain = await client.getCertificate(await waitForCertificate(client, finalized, signal));
  const { validFrom, validTo } = new X509Certificate(chain);
  return { chain, key: key.toString(), notBefore: new Date(validFrom), notAfter: new Date(validTo) };
}

async function answerChallenge(
  client: Client,
  authorization: Authorization,
  publish: CertificateOrder['publish'],
): Promise<void> {
  const challenge = authorization.challenges.find(({ type }) => type === 'http-01');
  if (!challenge) throw new OrderError('authority_error', 'The authority does not offer HTTP-01.');
  await publish({ token: challenge.token, text: await client.getChallengeKeyAuthorization(challenge) });
  await client.completeChallenge(challenge);
}

async function waitForAuthorization(client: Client, order: Order, signal: AbortSignal): Promise<void> {
  let failures = 0;
  for await (const _ of pollDelays(signal)) {
    const authorizations = await client.getAuthorizations(order);
    if (authorizations.every(({ status }) => status === 'valid')) return;
    for (const { status, challenges } of authorizations) {
      if (status === 'valid') continue;
      const problem = challenges.map(findProblem).find((it) => it !== null);
      if (problem && (status !== 'pending' || ++failures >= failuresMax)) throw challengeError(problem);
      if (status !== 'pending') throw new OrderError('authority_error', `The authorization is ${status}.`);
    }
  }
}

async function waitForCertificate(client: Client, order: Order, signal: AbortSignal): Promise<Order> {
  let now = order;
  for await (const _ of pollDelays(signal)) {
    if (now.status === 'valid') return now;
    if (now.status === 'invalid') throw problemError(findProblem(now) ?? {});
    now = await client.getOrder(order);
  }
  return now;
}

function findProblem(thing: object): AcmeProblem | null {
  const problem = 'error' in thing ? thing.error : null;
  return typeof problem === 'object' && problem !== null ? problem : null;
}

async function* pollDelays(signal: AbortSignal): AsyncGenerator<void> {
  for (let wait = pollMsFirst; ; wait = Math.min(wait * 2, pollMsMax)) {
    if (signal.aborted) throw new OrderError('authority_error', 'The order timed out.');
    yield;
    await Bun.sleep(wait);
  }
}

type AcmeTransport = (
  url: string,
  method: string,
  options?: { data?: unknown },
) => Promise<{ status: number; headers: Record<string, string>; data: unknown }>;

const answerMsMax = 20_000;

/** The library's own client retries an unreachable server for over a minute and drops Retry-After. */
function createAcmeTransport(options: {
  directory: string;
  trusted: string | undefined;
  signal: AbortSignal;
}): AcmeTransport {
  return async (url, method, { data } = {}) => {
    const fail = (error: unknown) => {
      throw unreachableError(options.directory, error);
    };
    const response = await fetch(url, {
      method: method.toUpperCase(),
      headers: { 'content-type': 'application/jose+json', 'user-agent': 'svc' },
      body: data === undefined ? undefined : JSON.stringify(data),
      signal: AbortSignal.any([options.signal, AbortSignal.timeout(answerMsMax)]),
      tls: options.trusted === undefined ? undefined : { ca: options.trusted },
    }).catch(fail);
    const body = parseBody(await response.text().catch(fail), response.headers.get('content-type') ?? '');
    if (response.status >= 400 && !isBadNonce(body.problem)) {
      const retryAt = parseRetryAfter(response.headers.get('retry-after'), new Date());
      if (response.status === 429)
        throw new OrderError('rate_limited', describeProblem(body, response), retryAt);
      if (body.problem.type !== undefined) throw problemError(body.problem, retryAt);
      throw new OrderError('authority_error', describeProblem(body, response), retryAt);
    }
    return { status: response.status, headers: Object.fromEntries(response.headers), data: body.data };
  };
}

function unreachableError(directory: string, error: unknown): OrderError {
  const why = error instanceof Error ? error.message : String(error);
  return new OrderError('authority_unreachable', `${new URL(directory).host} is unreachable: ${why}`);
}

interface ParsedBody {
  data: unknown;
  problem: AcmeProblem;
}

function parseBody(text: string, type: string): ParsedBody {
  if (!/\bjson\b/.test(type)) return { data: text, problem: {} };
  try {
    const data: unknown = JSON.parse(text);
    return { data, problem: typeof data === 'object' && data !== null ? data : {} };
  } catch {
    throw new OrderError('authority_error', 'The authority returned invalid JSON.');
  }
}

function describeProblem({ problem }: ParsedBody, response: Response): string {
  return typeof problem.detail === 'string'
    ? problem.detail
    : `The authority responded with status ${response.status}.`;
}

interface AcmeProblem {
  type?: unknown;
  detail?: unknown;
}

const problemPrefix = 'urn:ietf:params:acme:error:';
const problemReasons: Readonly<Record<string, OrderErrorReason>> = {
  rateLimited: 'rate_limited',
  rejectedIdentifier: 'host_refused',
  unsupportedIdentifier: 'host_refused',
  caa: 'caa_forbids',
};

function problemError(problem: AcmeProblem, retryAt: Date | null = null): OrderError {
  const type = typeof problem.type === 'string' ? problem.type.replace(problemPrefix, '') : 'unknown';
  const detail = typeof problem.detail === 'string' ? problem.detail : '';
  const reason = Object.hasOwn(problemReasons, type) ? problemReasons[type] : undefined;
  return new OrderError(reason ?? 'authority_error', detail || `The authority reports ${type}.`, retryAt);
}

/** A problem in a challenge is about the host's response, whatever its type. */
function challengeError(problem: AcmeProblem): OrderError {
  const failure = problemError(problem);
  if (failure.reason === 'caa_forbids') return failure;
  return new OrderError('challenge_failed', failure.message);
}

function isBadNonce(problem: AcmeProblem): boolean {
  return problem.type === `${problemPrefix}badNonce`;
}

export function parseRetryAfter(header: string | null, now: Date): Date | null {
  if (!header) return null;
  const at = /^\d+$/.test(header) ? now.getTime() + Number(header) * 1000 : Date.parse(header);
  return Number.isFinite(at) && at > now.getTime() ? new Date(at) : null;
}
