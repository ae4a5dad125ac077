import { z } from 'zod';
import type { DeviceGrant } from '../drivers/git-host/git-host.ts';
import type { Db } from '../plumbing/db.ts';
import { fail } from '../plumbing/problem.ts';
import { seal, unseal } from '../plumbing/seal.ts';
import type { LinkedPerson } from './git-parts.ts';
import { gitSealingKey } from './token-seal.ts';

const boundTo = 'git device code';
const Content = z.object({
  code: z.string(),
  tenantId: z.string(),
  userId: z.string(),
  host: z.string(),
  expiresAt: z.coerce.date(),
  intervalSeconds: z.number(),
});
export type DeviceCode = z.output<typeof Content>;

/**
 * The code that clients get is ours: the host's, and for whom it is, sealed. So nothing is kept before it is approved,
 * and a code that got into the hands of somebody else is of no use to them.
 */
export async function makeDeviceCode(
  db: Db,
  who: LinkedPerson,
  { grant, host, now }: { grant: DeviceGrant; host: string; now: Date },
): Promise<{ text: string; expiresAt: Date }> {
  const expiresAt = new Date(now.getTime() + grant.expiresInSeconds * 1000);
  const content: DeviceCode = {
    ...{ code: grant.deviceCode, tenantId: who.tenantId, userId: who.userId, host, expiresAt },
    intervalSeconds: grant.intervalSeconds,
  };
  const sealed = seal(await gitSealingKey(db), { text: JSON.stringify(content), boundTo });
  return { text: sealed.toString('base64url'), expiresAt };
}

/** One of another person, tenant or host is as good as none. */
export async function readDeviceCode(
  db: Db,
  who: LinkedPerson,
  { text, host }: { text: string; host: string },
): Promise<DeviceCode> {
  const content = await contentOf(db, text);
  if (content?.userId !== who.userId || content.tenantId !== who.tenantId || content.host !== host)
    throw fail('not_found', { detail: 'There is no such code of yours in this tenant.' });
  return content;
}

async function contentOf(db: Db, text: string): Promise<DeviceCode | null> {
  if (!/^[\w-]{40,}$/.test(text)) return null;
  const key = await gitSealingKey(db);
  try {
    const opened = unseal(key, { sealed: Buffer.from(text, 'base64url'), boundTo });
    return Content.parse(JSON.parse(opened));
  } catch {
    return null;
  }
}
