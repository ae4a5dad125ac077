import { sourcesPrefix } from '@svc/contract/deployments.ts';
import { gitSetupPath, gitWebhookPath } from '@svc/contract/git-host.ts';
import { siteAuthPath } from '@svc/contract/identity.ts';
import { manifestJsonSchema } from '@svc/contract/manifest.shapes.ts';
import { manifestSchemaPath } from '@svc/contract/manifest.ts';
import { openApiDocument } from '@svc/contract/openapi.ts';
import { siteConfigJsonSchema } from '@svc/contract/site-config.shapes.ts';
import { siteConfigSchemaPath } from '@svc/contract/site-config.ts';
import { uploadsPrefix } from '@svc/contract/static-sites.ts';
import { objectsPrefix } from '@svc/contract/storage.ts';
import { userKeysPath } from '@svc/contract/user-keys.ts';
import packageJson from '../package.json' with { type: 'json' };
import { type ChallengeAnswer, challengePrefix } from './certificates/challenge-answer.ts';
import type { Config } from './config.ts';
import type { Console } from './console/create-console.ts';
import { answerChallenge } from './edge/answer-challenge.ts';
import type { UserTokens } from './edge/user-tokens.ts';
import { setupPage } from './git-connections/setup-page.ts';
import { gitPrefix } from './git-host/paths.ts';
import { iconsPrefix } from './icons/create-icons.ts';
import { createConsoleLogin } from './identity/console-login.ts';
import type { Metrics } from './plumbing/metrics.ts';
import { fail } from './plumbing/problem.ts';
import type { Handle } from './plumbing/serve.ts';

export interface FrontParts {
  config: Config;
  metrics: Metrics;
  api: Handle;
  console: Console;
  oauth: Handle;
  icons: Handle;
  objects: Handle;
  uploads: Handle;
  sources: Handle;
  siteAuth: Handle;
  gitWebhook: Handle;
  gitHost: Handle;
  challengeAnswer: ChallengeAnswer;
  isReady: () => Promise<boolean>;
  /** What apps verify who asks with. */
  userKeys: UserTokens['publicKeys'];
}

/** Which part of the server a path belongs to. */
export function createFront(parts: FrontParts): Handle {
  const { baseUrl } = parts.config;
  const openApi = madeOnce(() => openApiDocument({ baseUrl, version: packageJson.version }));
  const manifestSchema = madeOnce(() => manifestJsonSchema({ baseUrl }));
  const siteSchema = madeOnce(() => siteConfigJsonSchema({ baseUrl }));
  const consoleLogin = createConsoleLogin({ baseUrl: parts.config.baseUrl });

  const exact: Record<string, Handle> = {
    '/healthz': async () => Response.json({ status: 'ok' }),
    '/readyz': async () => {
      if (await parts.isReady()) return Response.json({ status: 'ready' });
      throw fail('unavailable', { detail: 'The database can not be reached.' });
    },
    '/metrics': async () =>
      new Response(await parts.metrics.text(), { headers: { 'content-type': parts.metrics.contentType } }),
    '/api/v1/openapi.json': async () =>
      new Response(openApi(), { headers: { 'content-type': 'application/json' } }),
    [manifestSchemaPath]: async () =>
      new Response(manifestSchema(), { headers: { 'content-type': 'application/schema+json' } }),
    [siteConfigSchemaPath]: async () =>
      new Response(siteSchema(), { headers: { 'content-type': 'application/schema+json' } }),
    [userKeysPath]: async () =>
      Response.json(parts.userKeys, { headers: { 'cache-control': 'public, max-age=300' } }),
  };

  return async (request, url, info) => {
    const path = url.pathname;
    const found = Object.hasOwn(exact, path) ? exact[path] : undefined;
    if (found) {
      info.setRoute(path);
      if (request.method !== 'GET' && request.method !== 'HEAD') {
        throw fail('method_not_allowed', { headers: { allow: 'GET, HEAD' } });
      }
      return found(request, url, info);
    }
    if (path.startsWith('/api/v1/')) return parts.api(request, url, info);
    if (parts.console.has(path)) return parts.console.handle(request, url, info);
    if (path.startsWith(challengePrefix)) {
      info.setRoute('acme');
      const { body, ...answer } = await answerChallenge(parts.challengeAnswer, {
        method: request.method,
        path,
      });
      return new Response(body as BodyInit | null, answer);
    }
    if (path.startsWith(iconsPrefix)) return parts.icons(request, url, info);
    if (path.startsWith(objectsPrefix)) return parts.objects(request, url, info);
    if (path.startsWith(uploadsPrefix)) return parts.uploads(request, url, info);
    if (path.startsWith(sourcesPrefix)) return parts.sources(request, url, info);
    if (path === '/oauth' || path.startsWith('/oauth/')) {
      info.setRoute('oauth');
      return parts.oauth(request, url, info);
    }
    if (path === '/login' || path === '/login/done' || path === '/logout') {
      info.setRoute('login');
      return consoleLogin(request, url, info);
    }
    if (path.startsWith(gitPrefix)) return parts.gitHost(request, url, info);
    if (path === gitWebhookPath) return parts.gitWebhook(request, url, info);
    if (path === gitSetupPath) return setupPage(request, url, info);
    if (path === siteAuthPath) {
      info.setRoute('login');
      return parts.siteAuth(request, url, info);
    }
    throw fail('not_found', { detail: 'No such path.' });
  };
}

/** Documents that take a while, and that most servers are never asked for: made with the first question. */
function madeOnce(make: () => unknown): () => string {
  let text: string | undefined;
  return () => {
    text ??= JSON.stringify(make());
    return text;
  };
}
