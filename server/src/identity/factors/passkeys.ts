import { randomBytes } from 'node:crypto';
import { isIP } from 'node:net';
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server';
import type { Db } from '../../core/db.ts';
import { fail } from '../../core/problem.ts';
import { type AccountSecret, saveSecret, takeSecret } from '../account/tokens.ts';
import { findPasskeyRow, listPasskeyRows, type PasskeyRow, recordPasskeyUse } from './store.ts';

const challengeSeconds = 600;

/** Loaded on first use: parsing certificates takes many modules. */
const loadWebAuthn = () => import('@simplewebauthn/server');

/** Browsers refuse passkeys for IP addresses. */
export function canUsePasskeys(baseUrl: string): boolean {
  return isIP(new URL(baseUrl).hostname.replace(/^\[|\]$/g, '')) === 0;
}

function relyingParty(baseUrl: string) {
  const { hostname, host, origin } = new URL(baseUrl);
  return { rpID: hostname, rpName: host, origin };
}

export async function registrationOptions(
  deps: { db: Db; baseUrl: string },
  user: { id: string; email: string; name: string },
) {
  const { generateRegistrationOptions } = await loadWebAuthn();
  const { rpID, rpName } = relyingParty(deps.baseUrl);
  const existing = await listPasskeyRows(deps.db, user.id);
  const options = await generateRegistrationOptions({
    rpID,
    rpName,
    userName: user.email,
    userDisplayName: user.name,
    userID: new TextEncoder().encode(user.id),
    timeout: challengeSeconds * 1000,
    // A passkey alone signs in: it must name its user, and check who holds it.
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    excludeCredentials: existing.map(({ credential_id, transports }) => ({ id: credential_id, transports })),
  });
  await saveChallenge(deps.db, 'passkey_registration', options.challenge, user.id);
  return options;
}

/** Throws where the response does not belong to the challenge of this user. */
export async function verifyRegistration(
  deps: { db: Db; baseUrl: string },
  { userId, response }: { userId: string; response: unknown },
): Promise<Pick<PasskeyRow, 'credential_id' | 'public_key' | 'counter' | 'transports'>> {
  const { verifyRegistrationResponse } = await loadWebAuthn();
  const { rpID, origin } = relyingParty(deps.baseUrl);
  const verified = await verifyRegistrationResponse({
    response: response as RegistrationResponseJSON,
    expectedChallenge: takeChallenge(deps.db, 'passkey_registration', userId),
    expectedOrigin: origin,
    expectedRPID: rpID,
    requireUserVerification: true,
  }).catch((cause: unknown) => {
    throw fail('invalid_factor', { detail: 'The passkey could not be verified. Try again.' }, { cause });
  });
  if (!verified.verified) throw fail('invalid_factor');
  const { id, publicKey, counter, transports = [] } = verified.registrationInfo.credential;
  return {
    credential_id: id,
    public_key: Buffer.from(publicKey),
    counter,
    transports: transports.filter((name) => /^[\w-]{1,32}$/.test(name)).slice(0, 10),
  };
}

/** `userId`: only this user's passkeys; null: any passkey that the browser offers. */
export async function authenticationOptions(
  deps: { db: Db; baseUrl: string },
  { userId }: { userId: string | null },
) {
  const allowed = userId === null ? [] : await listPasskeyRows(deps.db, userId);
  // Without the library, whose loading would delay the first sign-in page.
  const options = {
    challenge: randomBytes(32).toString('base64url'),
    rpId: relyingParty(deps.baseUrl).rpID,
    timeout: challengeSeconds * 1000,
    userVerification: 'required',
    allowCredentials: allowed.map(({ credential_id, transports }) => ({
      type: 'public-key',
      id: credential_id,
      transports,
    })),
  };
  await saveChallenge(deps.db, 'passkey_sign_in', options.challenge, null);
  return options;
}

export async function verifyAuthentication(
  deps: { db: Db; baseUrl: string },
  { response }: { response: unknown },
): Promise<string | null> {
  const { verifyAuthenticationResponse } = await loadWebAuthn();
  const presented = response as AuthenticationResponseJSON | null;
  const id = typeof presented?.id === 'string' ? presented.id : '';
  const passkey = await findPasskeyRow(deps.db, id);
  if (!presented || !passkey) return null;
  const handle = presented.response?.userHandle;
  if (handle && Buffer.from(handle, 'base64url').toString() !== passkey.user_id) return null;
  const { rpID, origin } = relyingParty(deps.baseUrl);
  const verified = await verifyAuthenticationResponse({
    response: presented,
    expectedChallenge: takeChallenge(deps.db, 'passkey_sign_in', null),
    expectedOrigin: origin,
    expectedRPID: rpID,
    requireUserVerification: true,
    credential: {
      id: passkey.credential_id,
      publicKey: new Uint8Array(passkey.public_key),
      counter: Number(passkey.counter),
    },
  }).catch(() => null);
  if (!verified?.verified) return null;
  await recordPasskeyUse(deps.db, passkey.id, verified.authenticationInfo.newCounter);
  return passkey.user_id;
}

function saveChallenge(db: Db, purpose: AccountSecret['purpose'], challenge: string, userId: string | null) {
  // Not a secret of the user: several browsers may register at the same time.
  return saveSecret(db, { purpose, secret: challenge, userId: null, data: { userId } }, challengeSeconds);
}

function takeChallenge(db: Db, purpose: AccountSecret['purpose'], userId: string | null) {
  return async (challenge: string) => {
    const found = await takeSecret(db, { purpose, secret: challenge });
    return found !== null && found.data.userId === userId;
  };
}
