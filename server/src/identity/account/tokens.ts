import type { Db } from '../../core/db.ts';
import { sha256 } from '../../core/values.ts';
import { findAccountToken, saveAccountToken, takeAccountToken } from './store.ts';

export interface AccountSecret {
  purpose: 'password_reset' | 'passkey_sign_in' | 'passkey_registration' | 'totp_setup' | 'second_factor';
  secret: string;
}

interface StoredSecret {
  userId: string | null;
  data: Record<string, unknown>;
}

const keyOf = ({ purpose, secret }: AccountSecret) => ({ purpose, hash: sha256(secret) });

export function saveSecret(
  db: Db,
  { userId, data, ...key }: AccountSecret & StoredSecret,
  secondsLeft: number,
): Promise<void> {
  return saveAccountToken(db, { ...keyOf(key), userId, data }, secondsLeft);
}

export function findSecret(db: Db, key: AccountSecret): Promise<StoredSecret | null> {
  return findAccountToken(db, keyOf(key));
}

export function takeSecret(db: Db, key: AccountSecret): Promise<StoredSecret | null> {
  return takeAccountToken(db, keyOf(key));
}
