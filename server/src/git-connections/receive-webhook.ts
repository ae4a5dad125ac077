import type { OperatorParts } from '../plumbing/operator.ts';
import { asOperator } from '../plumbing/operator.ts';
import { fail } from '../plumbing/problem.ts';
import { readBody } from '../plumbing/read-body.ts';
import type { Handle } from '../plumbing/serve.ts';
import { appsOfRepo } from './apps-of-repo.ts';
import type { GitParts } from './git-parts.ts';
import { notePush } from './note-push.ts';
import { readPush } from './push-payload.ts';

export const webhookBytesMax = 5 * 1024 * 1024;

/** What the git host tells. Who is not the host is told nothing but that. */
export function createWebhookReceiver(parts: GitParts & OperatorParts): Handle {
  const { gitHost, db } = parts;
  return async (request, _url, info) => {
    info.setRoute('git.webhook');
    if (request.method !== 'POST') throw fail('method_not_allowed', { headers: { allow: 'POST' } });
    const bytes = await readBody(request, { bytesMax: webhookBytesMax });
    const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
    if (!(await gitHost.isSigned(text, request.headers.get('x-hub-signature-256'))))
      throw fail('unauthenticated', { detail: 'The signature is missing, or is not that of the git host.' });

    const deliveryId = request.headers.get('x-github-delivery') ?? '';
    if (!/^[\w-]{1,100}$/.test(deliveryId))
      throw fail('validation_failed', { detail: 'X-GitHub-Delivery is missing.' });
    if (request.headers.get('x-github-event') !== 'push') return answer(200, { noted: 0 });
    const push = readPush(deliveryId, text);
    if (!push) return answer(200, { noted: 0 });
    let noted = 0;
    let trouble: unknown;
    for (const place of await appsOfRepo(db, { host: gitHost.webUrl, repoId: push.repoId })) {
      const change = { name: 'git.push', auditTenantId: place.tenantId, requestId: info.requestId };
      // One app's trouble is not the others': the host tells it again, and those who have heard of it do nothing.
      try {
        const outcome = await asOperator(parts, change, (ctx) => notePush(ctx, place, { push, gitHost }));
        if (outcome) noted++;
        info.log.info({ app: place.appId, delivery: deliveryId, outcome }, 'a push was told of');
      } catch (error) {
        info.log.warn({ err: error, app: place.appId, delivery: deliveryId }, 'a push could not be noted');
        trouble = error;
      }
    }
    if (trouble !== undefined) throw trouble;
    return answer(noted > 0 ? 202 : 200, { noted });
  };
}

function answer(status: number, body: { noted: number }): Response {
  return Response.json(body, { status, headers: { 'cache-control': 'no-store' } });
}
