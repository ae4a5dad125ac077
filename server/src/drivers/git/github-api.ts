import { z } from 'zod';
import { Failure, fail } from '../../core/problem.ts';
import type { Commit, GitAccount, Installation, Repository, TreeEntry } from './git-host.ts';

const responseMsMax = 10_000;
const responseBytesMax = 32 * 1024 * 1024;

export const boundedFetch: (input: string | URL | Request, init?: RequestInit) => Promise<Response> = async (
  input,
  init,
) => {
  const late = AbortSignal.timeout(responseMsMax);
  const signal = init?.signal ? AbortSignal.any([init.signal, late]) : late;
  const answer = await fetch(input, { ...init, signal });
  if (Number(answer.headers.get('content-length') ?? 0) > responseBytesMax) {
    await answer.body?.cancel();
    throw new Error('The response is too large.');
  }
  return answer.body === null ? answer : new Response(answer.body.pipeThrough(limitBody()), answer);
};

/** Content-Length may be absent, or smaller than the decompressed body. */
function limitBody(): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0;
  return new TransformStream({
    transform(piece, controller) {
      bytes += piece.byteLength;
      if (bytes > responseBytesMax) controller.error(new Error('The response is too large.'));
      else controller.enqueue(piece);
    },
  });
}

export class HostError extends Error {
  constructor(
    readonly status: number,
    readonly answer: z.output<typeof ErrorResponse>,
  ) {
    super(`${status} ${answer.message}`);
    this.name = 'HostRefusal';
  }
}

export async function callHost<T extends z.ZodType>(
  shape: T,
  question: () => Promise<{ data: unknown }>,
): Promise<z.output<T>> {
  let answer: { data: unknown };
  try {
    answer = await question();
  } catch (error) {
    throw toHostError(error);
  }
  const parsed = shape.safeParse(answer.data);
  if (!parsed.success) throw unavailableError('unexpected response.');
  return parsed.data;
}

export async function callHostOrNull<T extends z.ZodType>(
  shape: T,
  question: () => Promise<{ data: unknown }>,
  absent: readonly number[] = [403, 404],
): Promise<z.output<T> | null> {
  return callHost(shape, question).catch((error: unknown) => {
    if (error instanceof HostError && absent.includes(error.status)) return null;
    throw error;
  });
}

export function mapHostErrors<T>(request: Promise<T>, toError: (error: HostError) => Error): Promise<T> {
  return request.catch((error: unknown) => {
    throw error instanceof HostError ? toError(error) : error;
  });
}

export function unavailableError(detail: string): Failure {
  return fail('git_host_unavailable', { detail: `The git host is unavailable: ${detail}` });
}

/** An error of Octokit with a response. It also has the request with its secrets, so it must not be passed on. */
const OctokitError = z.object({
  response: z.object({ status: z.int(), headers: z.record(z.string(), z.unknown()), data: z.unknown() }),
});

export function errorResponse(error: unknown): z.output<typeof OctokitError>['response'] | null {
  const parsed = error instanceof Error ? OctokitError.safeParse(error) : null;
  return parsed?.success ? parsed.data.response : null;
}

function toHostError(error: unknown): Error {
  if (error instanceof Failure) return error;
  const answer = errorResponse(error);
  if (!answer) return unavailableError('no connection.');
  const { status, headers, data } = answer;
  const parsed = ErrorResponse.safeParse(data);
  if (status >= 500) return unavailableError(`status ${status}.`);
  if (!parsed.success) return unavailableError(`status ${status} with an unexpected body.`);
  const isRateLimited = headers['x-ratelimit-remaining'] === '0' || headers['retry-after'] !== undefined;
  if (status === 429 || (status === 403 && isRateLimited)) return unavailableError('rate limit exceeded.');
  return new HostError(status, parsed.data);
}

export const AccountResponse = z
  .object({ id: z.int(), login: z.string().min(1), type: z.string() })
  .transform(({ id, login, type }): GitAccount => {
    return { id, login, kind: type === 'Organization' ? 'organization' : 'user' };
  });

export const InstallationResponse = z
  .object({
    id: z.int(),
    account: AccountResponse,
    repository_selection: z.enum(['all', 'selected']),
    suspended_at: z.string().nullish(),
  })
  .transform(({ id, account, repository_selection }): Installation => {
    return { id, account, repositories: repository_selection };
  });

export const InstallationsResponse = z.object({
  total_count: z.int(),
  installations: z.array(InstallationResponse),
});

export const RepositoryResponse = z
  .object({
    id: z.int(),
    name: z.string(),
    owner: z.object({ login: z.string() }),
    private: z.boolean(),
    size: z.number(),
    default_branch: z.string(),
    description: z.string().nullish(),
    html_url: z.string(),
    clone_url: z.string(),
    permissions: z.object({ push: z.boolean().optional() }).optional(),
  })
  .transform(
    (repo): Repository => ({
      id: repo.id,
      owner: repo.owner.login,
      name: repo.name,
      isPrivate: repo.private,
      isEmpty: repo.size === 0,
      defaultBranch: repo.default_branch,
      canPush: repo.permissions?.push ?? false,
      description: repo.description ?? '',
      webUrl: repo.html_url,
      cloneUrl: repo.clone_url,
    }),
  );

export const RepositoriesResponse = z.object({
  total_count: z.int(),
  repositories: z.array(RepositoryResponse),
});

export const CommitResponse = z
  .object({
    sha: z.string(),
    commit: z.object({ message: z.string(), tree: z.object({ sha: z.string() }) }),
  })
  .transform(({ sha, commit }): Commit => ({ sha, message: commit.message, treeSha: commit.tree.sha }));

export const TreeResponse = z
  .object({
    truncated: z.boolean(),
    tree: z.array(
      z.object({ path: z.string(), mode: z.string(), type: z.string(), size: z.number().default(0) }),
    ),
  })
  .transform(({ truncated, tree }) => ({
    isWhole: !truncated,
    entries: tree.map((item): TreeEntry => ({ path: item.path, kind: entryKind(item), bytes: item.size })),
  }));

function entryKind({ mode, type }: { mode: string; type: string }): TreeEntry['kind'] {
  if (type === 'tree') return 'folder';
  if (type === 'commit') return 'submodule';
  return mode === '120000' ? 'symlink' : 'file';
}

export const ContentResponse = z.union([
  z.array(z.object({ type: z.string() })).transform(() => null),
  z.object({
    type: z.string(),
    size: z.number(),
    encoding: z.string().optional(),
    content: z.string().optional(),
  }),
]);

export const HookResponse = z.object({ id: z.int(), config: z.object({ url: z.string().optional() }) });
export const HooksResponse = z.array(HookResponse);

export const AppResponse = z.object({ slug: z.string().optional(), name: z.string() });

export const DeviceCodeResponse = z.object({
  device_code: z.string().min(1),
  user_code: z.string().min(1).max(50),
  verification_uri: z.string(),
  expires_in: z.number().min(1).max(86_400),
  interval: z.number().min(1).max(3_600).default(5),
});

export const TokensResponse = z.object({
  access_token: z.string().min(1),
  expires_in: z.number().optional(),
  refresh_token: z.string().optional(),
  refresh_token_expires_in: z.number().optional(),
});

export const LoginErrorResponse = z.object({
  error: z.string(),
  error_description: z.string().optional(),
  interval: z.number().optional(),
});

/** Distinguishes the host's own errors from those of a proxy with the same status. */
const ErrorResponse = z.object({
  message: z.string(),
  errors: z.array(z.unknown()).optional(),
});
