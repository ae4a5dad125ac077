import { failureOfProblem, isBadNonce, retryAtOf } from './acme-problem.ts';
import { OrderFailure } from './certificate-authority.ts';

/** What `acme-client` wants of whatever carries its requests. */
export type AcmeTransport = (
  url: string,
  method: string,
  options?: { data?: unknown },
) => Promise<AcmeAnswer>;

export interface AcmeAnswer {
  status: number;
  headers: Record<string, string>;
  data: unknown;
}

const answerMsMax = 20_000;

/**
 * Instead of the library's own, which asks an absent server again for over a minute, keeps what to trust for the whole
 * process and drops when it may be asked again.
 */
export function createAcmeTransport(options: {
  directory: string;
  trusted: string | undefined;
  signal: AbortSignal;
}): AcmeTransport {
  return async (url, method, { data } = {}) => {
    const answer = await fetch(url, {
      method: method.toUpperCase(),
      headers: { 'content-type': 'application/jose+json', 'user-agent': 'svc' },
      ...(data === undefined ? {} : { body: JSON.stringify(data) }),
      signal: AbortSignal.any([options.signal, AbortSignal.timeout(answerMsMax)]),
      ...(options.trusted === undefined ? {} : { tls: { ca: options.trusted } }),
    }).catch((error: unknown) => {
      throw unreachable(options.directory, error);
    });
    const text = await answer.text().catch((error: unknown) => {
      throw unreachable(options.directory, error);
    });
    const said = dataOf(text, answer.headers.get('content-type') ?? '');
    if (answer.status >= 400 && !isBadNonce(said.problem)) {
      const retryAt = retryAtOf(answer.headers.get('retry-after'), new Date());
      if (answer.status === 429) throw new OrderFailure('rate_limited', detailOf(said, answer), retryAt);
      if (said.problem.type !== undefined) throw failureOfProblem(said.problem, retryAt);
      throw new OrderFailure('authority_error', detailOf(said, answer), retryAt);
    }
    return { status: answer.status, headers: Object.fromEntries(answer.headers), data: said.data };
  };
}

function unreachable(directory: string, error: unknown): OrderFailure {
  const why = error instanceof Error ? error.message : String(error);
  return new OrderFailure('authority_unreachable', `${new URL(directory).host} does not answer: ${why}`);
}

interface Said {
  data: unknown;
  problem: { type?: unknown; detail?: unknown };
}

function dataOf(text: string, type: string): Said {
  if (!/\bjson\b/.test(type)) return { data: text, problem: {} };
  try {
    const data: unknown = JSON.parse(text);
    return { data, problem: typeof data === 'object' && data !== null ? data : {} };
  } catch {
    throw new OrderFailure('authority_error', 'The authority answers with what is no JSON.');
  }
}

function detailOf({ problem }: Said, answer: Response): string {
  return typeof problem.detail === 'string' ? problem.detail : `The authority answers ${answer.status}.`;
}
