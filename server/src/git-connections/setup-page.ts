import { html } from '../identity/pages/html.ts';
import { pageResponse } from '../identity/pages/layout.ts';
import { fail } from '../plumbing/problem.ts';
import type { Handle } from '../plumbing/serve.ts';

/**
 * Where the git host sends people who have installed the app there. It changes nothing: whoever began goes on where
 * they began, and a link that somebody else made up leads nowhere.
 */
export const setupPage: Handle = async (request, url, info) => {
  info.setRoute('git.setup');
  if (request.method !== 'GET' && request.method !== 'HEAD')
    throw fail('method_not_allowed', { headers: { allow: 'GET, HEAD' } });
  const state = url.searchParams.get('state') ?? '';
  const installation = url.searchParams.get('installation_id') ?? '';
  const flags = [
    /^[\w-]{1,100}$/.test(state) ? ` --state ${state}` : '',
    /^\d{1,15}$/.test(installation) ? ` --installation-id ${installation}` : '',
  ].join('');
  const main = flags
    ? html`<h1>One more step</h1>
<p class="lead">Go back to your terminal and finish the connection there:</p>
<p><code>svc git-host complete${flags}</code></p>`
    : html`<h1>Nothing to finish</h1>
<p class="lead">Connect a repository from your terminal: <code>svc apps git connect</code>.</p>`;
  return pageResponse({ title: 'Git host', main }, { status: 200 });
};
