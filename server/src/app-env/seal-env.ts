import { z } from 'zod';
import type { Db } from '../plumbing/db.ts';
import { seal, sealingKey, unseal } from '../plumbing/seal.ts';

const keyName = 'deployments.env_sealing_key';
const Env = z.record(z.string(), z.string());

/** The variables as a deployment had them, to be kept with it: what is rolled back to runs with these again. */
export async function sealEnv(
  db: Db,
  { deploymentId, env }: { deploymentId: string; env: Readonly<Record<string, string>> },
): Promise<Buffer> {
  return seal(await sealingKey(db, keyName), { text: JSON.stringify(env), boundTo: deploymentId });
}

/** Only for the deployment that they were sealed for. */
export async function openEnv(
  db: Db,
  { deploymentId, sealed }: { deploymentId: string; sealed: Buffer },
): Promise<Record<string, string>> {
  return Env.parse(JSON.parse(unseal(await sealingKey(db, keyName), { sealed, boundTo: deploymentId })));
}
