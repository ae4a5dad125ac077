import { sha256 } from '../../core/values.ts';
import { matchesIfNoneMatch } from '../../http/headers.ts';
import { ScimError } from './errors.ts';

interface Resource {
  meta: { version?: string };
}

/** A hash of all attributes, so that it also changes with what other resources add, such as `groups` (RFC 7644 §3.14). */
export function withVersion<T extends { meta: object }>(resource: T): T & Resource {
  const version = `W/"${sha256(JSON.stringify(resource)).slice(0, 22)}"`;
  return { ...resource, meta: { ...resource.meta, version } };
}

const matchesVersion = (sent: string, { meta: { version = '' } }: Resource) =>
  matchesIfNoneMatch(sent, version.replace(/^W\//, ''));

export const isUnchanged = (request: Request, resource: Resource) =>
  matchesVersion(request.headers.get('if-none-match') ?? '', resource);

export function requireVersion(request: Request, resource: Resource): void {
  const sent = request.headers.get('if-match');
  if (sent !== null && !matchesVersion(sent, resource))
    throw new ScimError(412, null, 'The resource has changed: its version is not the one in If-Match.');
}
