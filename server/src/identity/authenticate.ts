import type { Caller } from '../plumbing/context.ts';
import { type CredentialParts, createFindCredential } from './find-credential.ts';

/** Who sends a request to the control plane; null answers 401. What was issued to an app counts for rows only. */
export function createAuthenticate(parts: CredentialParts): (request: Request) => Promise<Caller | null> {
  const findCredential = createFindCredential(parts);
  return async (request) => {
    const caller = (await findCredential(request))?.caller;
    return caller && caller.throughApp === undefined ? caller : null;
  };
}
