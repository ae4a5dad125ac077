import { sourceBytesMax } from '@svc/contract/deployments.ts';
import type { GitClient } from '../drivers/git-client/git-client.ts';
import { connectionOf } from '../git-connections/connection-of.ts';
import type { GitParts } from '../git-connections/git-parts.ts';
import { remoteOf } from '../git-connections/remote-of.ts';
import { Failure } from '../plumbing/problem.ts';
import { SourceUnavailable, type TakeParts, unpackUpload } from '../sources/take-source.ts';
import { DeploymentFailure } from './deployment-failure.ts';
import type { Fetched, SourceOfDeployment } from './deployment-parts.ts';
import type { DeploymentRow } from './store.ts';

export type FetchParts = TakeParts & { git: GitParts; gitClient: GitClient };
type Job = Parameters<SourceOfDeployment['fetch']>[0];

/** What was uploaded, or the connected branch as it is at this moment: so a push that is told late brings nothing old back. */
export async function fetchSource(parts: FetchParts, job: Job): Promise<Fetched> {
  try {
    return await (job.row.source === 'upload' ? unpack(parts, job) : checkOut(parts, job));
  } catch (error) {
    if (error instanceof SourceUnavailable) throw unavailable(error.message);
    if (error instanceof Failure) throw unavailable(error.detail ?? error.message);
    throw error;
  }
}

async function unpack(parts: FetchParts, { row, into, log, signal }: Job): Promise<Fetched> {
  if (row.upload_id === null) throw unavailable('No source was uploaded.');
  log('platform', 'Unpacking the source …');
  const of = { tenantId: row.tenant_id, appId: row.app_id, uploadId: row.upload_id };
  await unpackUpload(parts, { ...of, into, signal });
  return {};
}

async function checkOut(parts: FetchParts, { row, into, log, signal }: Job): Promise<Fetched> {
  const connection = await connectionOf(parts.db, placeOf(row));
  if (!connection) throw unavailable('No repository is connected any more.');
  const ref = row.ref ?? connection.branch;
  const repo = `${connection.repo.owner}/${connection.repo.name}`;
  log('platform', `Fetching ${ref} of ${repo} …`);
  const from = await remoteOf(parts.git, connection);
  const { sha, message } = await parts.gitClient.checkOut({
    ...{ from, ref, into, signal },
    bytesMax: sourceBytesMax,
  });
  const title = message.split('\n', 1)[0]?.slice(0, titleCharsMax) ?? '';
  log('platform', `Commit ${sha.slice(0, 12)}: ${title}`);
  return { repo, ref, commit_sha: sha, commit_message: title };
}

const titleCharsMax = 200;

function placeOf({ tenant_id: tenantId, app_id: appId }: DeploymentRow) {
  return { tenantId, appId };
}

function unavailable(detail: string): DeploymentFailure {
  return new DeploymentFailure('source_unavailable', 'fetch', detail);
}
