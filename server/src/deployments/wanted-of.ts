import { invalid } from '../plumbing/problem.ts';
import type { RunMode } from '../plumbing/route.ts';

export interface Wanted {
  ref?: string | undefined;
  /** `pending`: it is only sent when this is carried out; for previews. */
  uploadId?: string | 'pending' | undefined;
}

/** By what was sent, or is to be: the first is for both, the second for previews alone. */
export function wantedOf(
  body: { ref?: string | undefined; upload_id?: string | undefined; upload_pending?: true | undefined },
  { mode }: { mode: RunMode },
): Wanted {
  const { ref, upload_id: uploadId, upload_pending: isPending } = body;
  if (isPending === undefined) return { ref, uploadId };
  if (mode === 'execute') throw invalid('upload_pending', 'is for a dry run: send the source first');
  if (uploadId !== undefined) throw invalid('upload_pending', 'is for source that has not been sent yet');
  return { ref, uploadId: 'pending' };
}
