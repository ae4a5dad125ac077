import { sitePlatformPrefix } from '@svc/contract/static-sites.ts';
import type { EdgeAnswer, EdgeAnswering, EdgeRequest } from '../plumbing/edge-request.ts';
import { answerFile, type FileSource } from './answer-file.ts';
import { badPathPage, notAcceptedPage, notFoundPage, pageAnswer } from './plain-page.ts';
import type { StandsIn } from './prepare-file.ts';
import { resolvePath } from './resolve-path.ts';
import { readPath, type SitePath, writePath } from './site-path.ts';
import type { ShownRelease } from './site-snapshot.ts';

/** What a release answers to GET or HEAD of a path. */
export function answerRelease(
  source: FileSource,
  release: ShownRelease,
  request: EdgeRequest,
): EdgeAnswering {
  const known = release.prepared.at(request.path);
  if (known) return answerFile(source, known, request);
  const path = readPath(request.path);
  if (!path) return pageAnswer(badPathPage, request.method);
  // However it is spelt: the platform's own paths are never a release's.
  if (`/${path.text}/`.startsWith(sitePlatformPrefix))
    return missing(source, release, request, { path, standsIn: 'always' });
  const resolved = resolvePath(release, {
    path,
    search: request.search,
    accept: () => request.header('accept'),
  });
  switch (resolved.kind) {
    case 'redirect':
      return redirectAnswer(resolved);
    case 'missing':
      return missing(source, release, request, { path, ...resolved });
    case 'fallback':
    case 'file': {
      const { config, prepared } = release;
      const standsIn = resolved.kind === 'fallback' ? resolved.standsIn : undefined;
      const file = prepared.prepare(resolved.file, { rules: config.headersAt(path), status: 200, standsIn });
      // One spelling of each, or made-up ones would take the place of those that are asked for.
      if (resolved.kind === 'file' && writePath(path) === request.path) prepared.keepAt(request.path, file);
      return answerFile(source, file, request);
    }
  }
}

function missing(
  source: FileSource,
  { files, config, prepared }: ShownRelease,
  request: EdgeRequest,
  { path, standsIn }: { path: SitePath; standsIn: StandsIn },
): EdgeAnswering {
  const page = files.get(config.notFound);
  if (!page) return pageAnswer(standsIn === 'by-accept' ? notAcceptedPage : notFoundPage, request.method);
  const file = prepared.prepare(page, { rules: config.headersAt(path), status: 404, standsIn });
  return answerFile(source, file, request);
}

export function redirectAnswer({ location, status }: { location: string; status: number }): EdgeAnswer {
  return {
    status,
    headers: {
      location,
      'content-length': '0',
      // Asked again each time: the next release may lead elsewhere.
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    },
    body: null,
  };
}
