import { OrderError, type OrderErrorReason } from './certificate-authority.ts';

export type AcmeTransport = (
  url: string,
  method: string,
  options?: { data?: unknown },
) => Promise<{ status: number; headers: Record<string, string>; data: unknown }>;

const answerMsMax = 20_000;

/** The library's own client retries an unreachable server for over a minute and drops Retry-After. */
export function createAcmeTransport(options: {
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
    const text = await response.text().catch(fail);
    const body = parseBody(text, response.headers.get('content-type') ?? '');
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

/** A problem document of an ACME server (RFC 8555, section 6.7), in a response or within an authorization. */
export interface AcmeProblem {
  type?: unknown;
  detail?: unknown;
}

const prefix = 'urn:ietf:params:acme:error:';
const reasons: Readonly<Record<string, OrderErrorReason>> = {
  rateLimited: 'rate_limited',
  rejectedIdentifier: 'host_refused',
  unsupportedIdentifier: 'host_refused',
  caa: 'caa_forbids',
};

export function problemError(problem: AcmeProblem, retryAt: Date | null = null): OrderError {
  const type = typeof problem.type === 'string' ? problem.type.replace(prefix, '') : 'unknown';
  const detail = typeof problem.detail === 'string' ? problem.detail : '';
  const reason = Object.hasOwn(reasons, type) ? reasons[type] : undefined;
  return new OrderError(reason ?? 'authority_error', detail || `The authority reports ${type}.`, retryAt);
}

/** A problem in a challenge is about the host's response, whatever its type. */
export function challengeError(problem: AcmeProblem): OrderError {
  const failure = problemError(problem);
  if (failure.reason === 'caa_forbids') return failure;
  return new OrderError('challenge_failed', failure.message);
}

function isBadNonce(problem: AcmeProblem): boolean {
  return problem.type === `${prefix}badNonce`;
}

export function parseRetryAfter(header: string | null, now: Date): Date | null {
  if (!header) return null;
  const at = /^\d+$/.test(header) ? now.getTime() + Number(header) * 1000 : Date.parse(header);
  return Number.isFinite(at) && at > now.getTime() ? new Date(at) : null;
}
