/** A refusal in the words of the REST API that the host speaks. */
export class GitHubRefusal extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly errors?: readonly ValidationItem[],
  ) {
    super(message);
    this.name = 'GitHubRefusal';
  }
}

export interface ValidationItem {
  resource: string;
  field: string;
  code: 'missing' | 'missing_field' | 'invalid' | 'already_exists' | 'custom';
  message?: string;
}

export function notFound(): GitHubRefusal {
  return new GitHubRefusal(404, 'Not Found');
}

export function forbidden(): GitHubRefusal {
  return new GitHubRefusal(403, 'Resource not accessible by integration');
}

export function unprocessable(...errors: ValidationItem[]): GitHubRefusal {
  return new GitHubRefusal(422, 'Validation Failed', errors);
}

const headers = { 'cache-control': 'no-store', 'x-github-media-type': 'github.v3; format=json' };
export const documentationUrl = 'https://docs.github.com/rest';

export function githubJson(body: unknown, init: { status?: number; headers?: Record<string, string> } = {}) {
  return Response.json(body, { status: init.status ?? 200, headers: { ...headers, ...init.headers } });
}

export function refusalAnswer({ status, message, errors }: GitHubRefusal): Response {
  const body = {
    message,
    ...(errors ? { errors } : {}),
    documentation_url: documentationUrl,
    status: String(status),
  };
  return githubJson(body, { status });
}
