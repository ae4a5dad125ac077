import { localPath } from '../identity/console-login.ts';
import type { EdgeAnswer, EdgeRequest } from '../plumbing/edge-request.ts';
import { notePage, pageAnswer } from './site-answers.ts';

export function needsTls(request: EdgeRequest): EdgeAnswer {
  const href = `https://${request.host}${localPath(request.path, `https://${request.host}`)}`;
  const page = notePage({
    mark: 'bad',
    title: 'This site needs HTTPS',
    text: 'Only some people may see it, and by plain HTTP nobody can be told from anybody else.',
    link: { href, label: 'Open it over HTTPS' },
  });
  return pageAnswer(request, page, { status: 403 });
}
