import type { Caller } from '../plumbing/context.ts';
import { type CredentialParts, createFindCredential } from './find-credential.ts';

/** Who sends a request to the control plane; null answers 401. */
export function createAuthenticate(parts: CredentialParts): (request: Request) => Promise<Caller | null> {
  const findCredential = createFindCredential(parts);
  return async (request) => (await findCredential(request))?.caller ?? null;
}
