import { isGitRef } from '@svc/contract/git-names.ts';
import { manifestOf } from '@svc/contract/manifest.shapes.ts';
import { durationMs, manifestBytesMax, manifestFileNames } from '@svc/contract/manifest.ts';
import { parseManifestDocument } from '@svc/contract/manifest-document.ts';
import { ManifestFaults } from '@svc/contract/manifest-faults.ts';
import { matchesBranch, previewTtlHours } from '@svc/contract/previews.ts';
import * as yaml from 'yaml';
import type { GitHost } from '../../drivers/git/git-host.ts';
import type { ConnectionRow } from '../git-connections/connection-store.ts';
import type { PreviewSettings } from '../git-connections/deps.ts';
import { findConnectedRepository, parseRepoName } from '../git-connections/repositories.ts';

/**
 * By the `svc.yaml` of the connected branch: a branch that nobody has reviewed cannot enable its own preview. Null: the branch
 * gets none. Asks the git host, so it must not run in a transaction.
 */
export async function findPreviewSettings(
  deps: { gitHost: GitHost },
  connection: ConnectionRow,
  branch: string,
): Promise<PreviewSettings | null> {
  if (branch === connection.branch || !isGitRef(branch)) return null;
  const found = await findConnectedRepository(deps, {
    repo: parseRepoName(connection.repo),
    repoId: connection.repo_id,
    installationId: connection.installation_id,
  });
  if (!found) return null;
  for (const path of manifestFileNames) {
    const file = { path, ref: connection.branch, bytesMax: manifestBytesMax };
    const text = await found.client.readFile(found.repository, file);
    if (text !== null) return parseSettings(text, branch);
  }
  return null;
}

/** A file with faults gives no previews; the deployment of the connected branch shows them. */
function parseSettings(text: string, branch: string): PreviewSettings | null {
  try {
    const { previews } = manifestOf(parseManifestDocument(yaml, text));
    if (!previews || !matchesBranch(previews.branches, branch)) return null;
    const ttl = previews.ttl ?? `${previewTtlHours.default}h`;
    return { ttlSeconds: durationMs(ttl) / 1_000 };
  } catch (error) {
    if (error instanceof ManifestFaults) return null;
    throw error;
  }
}
