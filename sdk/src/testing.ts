import { afterAll } from 'bun:test';

export interface Seen {
  method: string;
  path: string;
  /** The path as sent, decoded once. */
  query: [string, string][];
  headers: Headers;
  body: string;
}

type Answer = (seen: Seen) => Response | Promise<Response>;

/** A server with scripted answers, in order; the last one repeats. */
export function scriptedServer({ idleTimeout = 5 } = {}) {
  const seen: Seen[] = [];
  let answers: Answer[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout,
    async fetch(request) {
      const url = new URL(request.url);
      const one: Seen = {
        method: request.method,
        path: url.pathname,
        query: [...url.searchParams],
        headers: request.headers,
        body: await request.text(),
      };
      seen.push(one);
      const answer = answers.length > 1 ? answers.shift() : answers[0];
      return answer ? answer(one) : new Response(null, { status: 500 });
    },
  });
  afterAll(() => server.stop(true));
  return {
    baseUrl: `http://127.0.0.1:${server.port}`,
    seen,
    /** Clears the recorded requests. */
    answerWith(...next: Answer[]) {
      answers = next;
      seen.length = 0;
    },
  };
}

export function problem(
  status: number,
  code: string,
  more: { errors?: unknown[]; request_url?: string; headers?: Record<string, string> } = {},
): Response {
  const { headers, ...fields } = more;
  const named = { type: 'about:blank', title: code, status, detail: `It is ${code}.`, code };
  return Response.json(
    { ...named, request_id: 'r-1', ...fields },
    { status, headers: { 'content-type': 'application/problem+json', ...headers } },
  );
}

export const emptyPage = () =>
  Response.json({ data: [], page: 1, per_page: 50, has_more: false, next_cursor: null });
