import { gitOwnerPattern, gitRepoNamePattern } from '@svc/contract/git-names.ts';
import { html } from '../identity/pages/html.ts';
import { type Page, pageResponse } from '../identity/pages/layout.ts';
import { messagePage } from '../identity/pages/message.ts';
import type { RequestInfo } from '../plumbing/api.ts';
import { fail } from '../plumbing/problem.ts';
import { seeOther } from '../plumbing/see-other.ts';
import type { GitHostParts } from './git-host-parts.ts';
import { type ReachedRepo, reachRepo } from './reach-repo.ts';

interface RepositoryPath {
  owner: string;
  repo: string;
}

/** `/git/<owner>/<repo>`, the address of a repository that people are shown. */
export function repositoryPath(url: Pick<URL, 'pathname'>): RepositoryPath | null {
  const [, owner = '', repo = ''] = /^\/git\/([^/]+)\/([^/]+?)(?:\.git)?\/?$/.exec(url.pathname) ?? [];
  return gitOwnerPattern.test(owner) && gitRepoNamePattern.test(repo) ? { owner, repo } : null;
}

/** What a repository is and how it is cloned; its files are for git. */
export function createRepositoryPage(parts: GitHostParts) {
  return async (request: Request, url: URL, info: RequestInfo, path: RepositoryPath): Promise<Response> => {
    info.setRoute('git.page');
    if (request.method !== 'GET' && request.method !== 'HEAD')
      throw fail('method_not_allowed', { headers: { allow: 'GET, HEAD' } });
    const caller = await parts.authenticate(request);
    if (caller?.kind !== 'session') return seeOther(`/login?return_to=${encodeURIComponent(url.pathname)}`);
    const { userId, email, name } = caller;
    const reached = await reachRepo(parts, { kind: 'user', userId, email, name, scope: null }, path);
    if (reached) return pageResponse(pageOf(parts, reached), { status: 200 });
    const text = 'There is no repository at this address, or none that you may see.';
    const view = { title: 'Nothing here', text, requestId: info.requestId };
    return pageResponse(messagePage(view), { status: 404 });
  };
}

function pageOf({ urls }: GitHostParts, { repo, owner, canPush }: ReachedRepo): Page {
  const fullName = `${owner.slug}/${repo.name}`;
  return {
    title: fullName,
    main: html`<h1>${fullName}</h1>
${repo.description !== '' && html`<p class="lead">${repo.description}</p>`}
<p><code>git clone ${urls.web}/${fullName}.git</code></p>
<dl class="facts">
<div><dt>Branch</dt><dd>${repo.default_branch}</dd></div>
<div><dt>Last push</dt><dd>${repo.pushed_at?.toISOString() ?? 'none yet'}</dd></div>
<div><dt>Seen by</dt><dd>${repo.is_private ? 'its own people' : `everybody in ${owner.slug}`}</dd></div>
<div><dt>You may</dt><dd>${canPush ? 'fetch and push' : 'fetch'}</dd></div>
</dl>
<p class="note">As the password, git takes a personal access token or a login of yours, with any user name.</p>`,
  };
}
