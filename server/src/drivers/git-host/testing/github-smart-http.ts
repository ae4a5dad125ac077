import { gitText } from './git-folder.ts';
import { tellOfPush } from './github-hooks.ts';
import type { StoredRepo } from './github-state.ts';

/** `/owner/name.git/…` by `git http-backend`, as a CGI program. */
export async function answerGit(
  request: Request,
  url: URL,
  reach: (fullName: string) => { repo: StoredRepo; canPush: boolean } | null,
): Promise<Response> {
  const [, fullName = '', rest = ''] = /^\/([^/]+\/[^/]+?)\.git(\/.*)$/.exec(url.pathname) ?? [];
  const found = reach(fullName);
  if (!request.headers.has('authorization') && !found)
    return new Response('', { status: 401, headers: { 'www-authenticate': 'Basic realm="GitHub"' } });
  const isPush = url.search.includes('git-receive-pack') || rest.endsWith('git-receive-pack');
  if (!found || (isPush && !found.canPush)) return new Response('Not Found', { status: 404 });
  const { repo } = found;
  const before = await refsOf(repo);
  const child = Bun.spawn(['git', 'http-backend'], {
    env: {
      ...{ PATH: process.env.PATH ?? '', GIT_PROJECT_ROOT: repo.folder, PATH_INFO: rest },
      ...{ GIT_HTTP_EXPORT_ALL: '1', REQUEST_METHOD: request.method, QUERY_STRING: url.search.slice(1) },
      ...{ CONTENT_TYPE: request.headers.get('content-type') ?? '', REMOTE_USER: 'octocat' },
      HTTP_CONTENT_ENCODING: request.headers.get('content-encoding') ?? '',
      GIT_PROTOCOL: request.headers.get('git-protocol') ?? '',
    },
    stdin: await request.bytes(),
    stdout: 'pipe',
    stderr: 'ignore',
  });
  const bytes = await new Response(child.stdout).bytes();
  const end = Buffer.from(bytes).indexOf('\r\n\r\n');
  const head = new TextDecoder().decode(bytes.subarray(0, end)).split('\r\n');
  const headers = new Headers(head.map((line) => line.split(': ', 2) as [string, string]));
  const status = Number(headers.get('status')?.slice(0, 3) ?? 200);
  headers.delete('status');
  for (const [ref, after] of await refsOf(repo)) {
    const old = before.get(ref) ?? '0'.repeat(40);
    if (old !== after) void tellOfPush(repo, { ref, before: old, after });
  }
  return new Response(bytes.subarray(end + 4), { status, headers });
}

async function refsOf({ folder }: StoredRepo): Promise<Map<string, string>> {
  const text = await gitText(folder, ['for-each-ref', '--format=%(refname) %(objectname)']);
  return new Map(
    text
      .split('\n')
      .filter(Boolean)
      .map((line) => line.split(' ') as [string, string]),
  );
}
