import { uuidPattern } from '@svc/contract/limits.ts';

/** The id of what may be named by a slug as well. */
export async function idOf(ref: string, ask: () => Promise<{ id: string }>): Promise<string> {
  return uuidPattern.test(ref) ? ref : (await ask()).id;
}
