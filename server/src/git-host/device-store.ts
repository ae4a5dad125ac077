import { sql } from 'kysely';
import { sha256 } from '../plumbing/canonical.ts';
import type { Db, Tx } from '../plumbing/db.ts';

export interface DeviceCodeRow {
  code_hash: string;
  user_code_hash: string;
  client_id: string;
  /** Who asks for it, as they say themselves, and from which address. */
  asked_by: string;
  asked_from: string;
  interval_seconds: number;
  last_poll_at: Date | null;
  approved_by: string | null;
  denied_at: Date | null;
  redeemed_at: Date | null;
  expires_at: Date;
  created_at: Date;
}

type Tables = { git_host_device_codes: DeviceCodeRow };
const codesOf = (db: Db) => db.withTables<Tables>();

export async function insertDeviceCode(
  db: Db,
  code: { deviceCode: string; userCode: string } & Pick<
    DeviceCodeRow,
    'client_id' | 'asked_by' | 'asked_from' | 'interval_seconds' | 'expires_at' | 'created_at'
  >,
): Promise<void> {
  const { deviceCode, userCode, ...rest } = code;
  await codesOf(db)
    .insertInto('git_host_device_codes')
    .values({
      ...rest,
      code_hash: sha256(deviceCode),
      user_code_hash: sha256(userCode),
      last_poll_at: null,
      approved_by: null,
      denied_at: null,
      redeemed_at: null,
    })
    .execute();
}

/**
 * Notes that it was asked for, and gives it as it was before. A client that asks too soon has to wait longer from then
 * on, whichever copy of the server it asks.
 */
export async function pollDeviceCode(
  db: Db,
  deviceCode: string,
  { now, toleranceSeconds, moreSeconds }: { now: Date; toleranceSeconds: number; moreSeconds: number },
): Promise<(DeviceCodeRow & { is_early: boolean }) | undefined> {
  const early = sql<boolean>`coalesce(last_poll_at
    + make_interval(secs => interval_seconds - ${toleranceSeconds}::int) > ${now}, false)`;
  const { rows } = await sql<DeviceCodeRow & { is_early: boolean }>`
    with before as (
      select code_hash, ${early} as is_early from svc.git_host_device_codes
      where code_hash = ${sha256(deviceCode)} for update
    )
    update svc.git_host_device_codes code set last_poll_at = ${now},
      interval_seconds = code.interval_seconds + case when before.is_early then ${moreSeconds}::int else 0 end
    from before where code.code_hash = before.code_hash
    returning code.*, before.is_early`.execute(db);
  return rows[0];
}

/** True for one of those who try. */
export async function redeemDeviceCode(db: Db, codeHash: string, now: Date): Promise<boolean> {
  const redeemed = await codesOf(db)
    .updateTable('git_host_device_codes')
    .set({ redeemed_at: now })
    .where('code_hash', '=', codeHash)
    .where('approved_by', 'is not', null)
    .where('redeemed_at', 'is', null)
    .where('denied_at', 'is', null)
    .where('expires_at', '>', now)
    .returning('code_hash')
    .executeTakeFirst();
  return redeemed !== undefined;
}

export function findByUserCode(db: Db, userCode: string): Promise<DeviceCodeRow | undefined> {
  return codesOf(db)
    .selectFrom('git_host_device_codes')
    .selectAll()
    .where('user_code_hash', '=', sha256(userCode))
    .executeTakeFirst();
}

/** Whether it was still open. */
export async function answerDeviceCode(
  db: Db,
  userCode: string,
  { now, ...answer }: { now: Date } & Partial<Pick<DeviceCodeRow, 'approved_by' | 'denied_at'>>,
): Promise<boolean> {
  const answered = await codesOf(db)
    .updateTable('git_host_device_codes')
    .set(answer)
    .where('user_code_hash', '=', sha256(userCode))
    .where('approved_by', 'is', null)
    .where('denied_at', 'is', null)
    .where('expires_at', '>', now)
    .returning('code_hash')
    .executeTakeFirst();
  return answered !== undefined;
}

export async function deleteCodesApprovedBy(tx: Tx, userId: string): Promise<void> {
  await codesOf(tx).deleteFrom('git_host_device_codes').where('approved_by', '=', userId).execute();
}

/** Kept for a while after their end, so that they can be told from such as never were. */
export async function deleteOldDeviceCodes(db: Db, before: Date): Promise<void> {
  await codesOf(db).deleteFrom('git_host_device_codes').where('expires_at', '<', before).execute();
}
