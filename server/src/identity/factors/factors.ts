import { randomBytes } from 'node:crypto';
import type { Factor } from '@svc/contract/factors.shapes.ts';
import { factorsMax, recoveryCodesCount } from '@svc/contract/factors.ts';
import type { z } from 'zod';
import type { Ctx, MutationCtx } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { declareSealingKey } from '../../core/keys.ts';
import { fail, orNotFound } from '../../core/problem.ts';
import { seal, sealingKey, unseal } from '../../core/seal.ts';
import { sha256 } from '../../core/values.ts';
import { listMembersOfThisAlone, requiresSecondFactor } from '../../people/tenants/tenants.ts';
import { findUser, lockUser } from '../../people/users/users.ts';
import { findSecret, saveSecret, takeSecret } from '../account/tokens.ts';
import { endBrowserSessions } from '../sessions/sessions.ts';
import { verifyRegistration } from './passkeys.ts';
import {
  countRecoveryCodes,
  deleteFactorRows,
  deleteRow,
  type FactorKind,
  filterPasswordOnly,
  findAppRow,
  insertPasskeyRow,
  listPasskeyRows,
  recordAppUse,
  renameRow,
  replaceRecoveryCodes,
  saveAppRow,
  takeRecoveryCode,
} from './store.ts';
import { findTotpStep, newTotpSecret, toBase32, totpUri } from './totp.ts';

type FactorRecord = z.output<typeof Factor>;
interface FactorDeps {
  db: Db;
  baseUrl: string;
}
type UserId = { userId: string };

export const factorKey = declareSealingKey({
  name: 'factors.sealing_key',
  protects: 'Secrets of authenticator apps',
  columns: { 'authenticator_apps.secret_sealed': 'user_id::text' },
});

const setupSeconds = 1800;

export async function listFactors(db: Db, { userId }: UserId): Promise<FactorRecord[]> {
  const [passkeys, app] = await Promise.all([listPasskeyRows(db, userId), findAppRow(db, userId)]);
  const record = (kind: FactorKind, row: (typeof passkeys)[number] | NonNullable<typeof app>) => ({
    id: row.id,
    kind,
    name: row.name,
    created_at: row.created_at.toISOString(),
    last_used_at: row.last_used_at?.toISOString() ?? '',
  });
  return [...passkeys.map((row) => record('passkey', row)), ...(app ? [record('totp', app)] : [])];
}

export async function hasSecondFactor(db: Db, user: UserId): Promise<boolean> {
  return (await listFactors(db, user)).length > 0;
}

export async function getSecurity(ctx: Ctx) {
  const user = { userId: ctx.caller.userId };
  const [items, left, isRequired] = await Promise.all([
    listFactors(ctx.db, user),
    countRecoveryCodes(ctx.db, user.userId),
    requiresSecondFactor(ctx.db, user),
  ]);
  return { items, recovery_codes_left: left, required: isRequired };
}

/** Of an account, or of the one sign-in that began it: somebody else who knows the password must not see its secret. */
interface Setup {
  userId: string;
  signIn?: string | undefined;
}

const setupKey = ({ userId, signIn }: Setup) =>
  ({ purpose: 'totp_setup', secret: signIn ?? userId }) as const;

/** The secret is stored when a code of the app proves that the app has it. */
export async function startTotp(
  { db, baseUrl }: FactorDeps,
  user: { id: string; email: string },
  signIn?: string,
): Promise<{ secret: string; uri: string }> {
  const secret = newTotpSecret();
  const sealed = seal(await sealingKey(db, factorKey), { text: secret, boundTo: user.id }).toString('base64');
  const entry = { ...setupKey({ userId: user.id, signIn }), data: { sealed } };
  await saveSecret(db, { ...entry, userId: signIn === undefined ? user.id : null }, setupSeconds);
  return { secret, uri: totpUri({ secret, email: user.email, host: new URL(baseUrl).host }) };
}

export async function findTotpSetup(
  { db, baseUrl }: FactorDeps,
  user: { id: string; email: string },
  signIn: string,
) {
  const secret = await readSetup(db, { userId: user.id, signIn });
  return secret === null
    ? null
    : { secret, uri: totpUri({ secret, email: user.email, host: new URL(baseUrl).host }) };
}

async function readSetup(db: Db, setup: Setup): Promise<string | null> {
  const found = await findSecret(db, setupKey(setup));
  if (found === null) return null;
  const sealed = Buffer.from(String(found.data.sealed), 'base64');
  return unseal(await sealingKey(db, factorKey), { sealed, boundTo: setup.userId });
}

export interface AddedFactor {
  factor: FactorRecord;
  /** With the first factor, else null: they replace older ones. */
  recoveryCodes: string[] | null;
}

async function lockFactors(ctx: MutationCtx, { userId, signIn }: Setup): Promise<FactorRecord[]> {
  await lockUser(ctx.db, userId);
  const existing = await listFactors(ctx.db, { userId });
  if (signIn !== undefined && existing.length > 0)
    throw fail('invalid_factor', { detail: 'A second factor was added meanwhile.' });
  return existing;
}

export async function addTotp(
  ctx: MutationCtx,
  { userId, code, name, signIn }: Setup & { code: string; name: string },
): Promise<AddedFactor> {
  const isFirst = (await lockFactors(ctx, { userId, signIn })).length === 0;
  const secret = await readSetup(ctx.db, { userId, signIn });
  if (secret === null) throw fail('invalid_factor', { detail: 'The setup has expired. Start again.' });
  const step = findTotpStep(secret, code, { now: ctx.now, after: 0 });
  if (step === null) throw fail('invalid_factor', { detail: 'The code is wrong. Enter the newest one.' });
  await takeSecret(ctx.db, setupKey({ userId, signIn }));
  const key = await sealingKey(ctx.db, factorKey);
  const row = {
    id: ctx.newId(),
    user_id: userId,
    secret_sealed: seal(key, { text: secret, boundTo: userId }),
    last_step: step,
    name,
    created_at: ctx.now,
    last_used_at: null,
  };
  await saveAppRow(ctx.db, row);
  return recordFactor(ctx, { userId, kind: 'totp', row, isFirst });
}

export async function addPasskey(
  ctx: MutationCtx,
  { userId, response, name, baseUrl, signIn }: Setup & { response: unknown; name: string; baseUrl: string },
): Promise<AddedFactor> {
  const existing = await lockFactors(ctx, { userId, signIn });
  if (existing.length >= factorsMax)
    throw fail('limit_reached', { detail: `An account can have ${factorsMax} passkeys. Remove one first.` });
  const credential = await verifyRegistration({ db: ctx.db, baseUrl }, { userId, response });
  const row = {
    ...credential,
    id: ctx.newId(),
    user_id: userId,
    name,
    created_at: ctx.now,
    last_used_at: null,
  };
  if (!(await insertPasskeyRow(ctx.db, row)))
    throw fail('invalid_factor', { detail: 'This passkey is registered already.' });
  return recordFactor(ctx, { userId, kind: 'passkey', row, isFirst: existing.length === 0 });
}

async function recordFactor(
  ctx: MutationCtx,
  input: UserId & { kind: FactorKind; row: { id: string; name: string; created_at: Date }; isFirst: boolean },
): Promise<AddedFactor> {
  const { userId, kind, row, isFirst } = input;
  const user = orNotFound(await findUser(ctx, { ref: userId }));
  ctx.audit({
    action: 'factors.add',
    target: { kind: 'user', id: userId, name: user.email },
    before: null,
    after: { kind, name: row.name },
  });
  const { id, name } = row;
  const factor = { id, kind, name, created_at: row.created_at.toISOString(), last_used_at: '' };
  return { factor, recoveryCodes: isFirst ? await newRecoveryCodes(ctx, userId) : null };
}

/** Replaces all earlier ones; only their hashes are stored. */
export async function resetRecoveryCodes(ctx: MutationCtx): Promise<string[]> {
  const { userId, email } = ctx.caller;
  if (!(await hasSecondFactor(ctx.db, { userId })))
    throw fail('invalid_factor', { detail: 'Add a passkey or an authenticator app first.' });
  ctx.audit({
    action: 'factors.reset_recovery_codes',
    target: { kind: 'user', id: userId, name: email },
    before: { codes: await countRecoveryCodes(ctx.db, userId) },
    after: { codes: recoveryCodesCount, replaced: true },
  });
  return newRecoveryCodes(ctx, userId);
}

async function newRecoveryCodes(ctx: MutationCtx, userId: string): Promise<string[]> {
  // 80 random bits, so that a plain hash of them cannot be reversed.
  const codes = Array.from({ length: recoveryCodesCount }, () =>
    (toBase32(randomBytes(10)).match(/.{4}/g) ?? []).join('-'),
  );
  await replaceRecoveryCodes(ctx.db, userId, codes.map(hashRecoveryCode));
  return codes;
}

function hashRecoveryCode(code: string): string {
  return sha256(code.toLowerCase().replace(/[^a-z2-7]/g, ''));
}

/** Six digits are of the authenticator app, anything else is a recovery code; each works once. */
export async function verifyCode(
  db: Db,
  { userId, code, now }: UserId & { code: string; now: Date },
): Promise<'totp' | 'recovery_code' | null> {
  if (!/^[\d\s]*$/.test(code))
    return (await takeRecoveryCode(db, userId, hashRecoveryCode(code))) ? 'recovery_code' : null;
  const app = await findAppRow(db, userId);
  if (!app) return null;
  const secret = unseal(await sealingKey(db, factorKey), { sealed: app.secret_sealed, boundTo: userId });
  const step = findTotpStep(secret, code, { now, after: Number(app.last_step) });
  return step !== null && (await recordAppUse(db, app.id, step)) ? 'totp' : null;
}

export function auditStart(ctx: MutationCtx, kind: FactorRecord['kind']): void {
  ctx.audit({
    action: 'factors.start',
    target: { kind: 'user', id: ctx.caller.userId, name: ctx.caller.email },
    before: null,
    after: { kind },
  });
}

export async function renameFactor(ctx: MutationCtx, input: { factor: string; name: string }) {
  const factor = await requireFactor(ctx, input.factor);
  ctx.audit({
    action: 'factors.rename',
    target: { kind: 'user', id: ctx.caller.userId, name: ctx.caller.email },
    before: { name: factor.name },
    after: { name: input.name },
  });
  await renameRow(ctx.db, factor.kind, factor.id, input.name);
  return { ...factor, name: input.name };
}

export async function removeFactor(ctx: MutationCtx, input: { factor: string }): Promise<FactorRecord> {
  const { userId, email } = ctx.caller;
  const factor = await requireFactor(ctx, input.factor);
  const others = (await listFactors(ctx.db, { userId })).length - 1;
  if (others === 0 && (await requiresSecondFactor(ctx.db, { userId }))) throw fail('factor_required');
  await deleteRow(ctx.db, factor.kind, factor.id);
  if (others === 0) {
    await deleteFactorRows(ctx.db, userId);
    ctx.warn('This is your last second factor: your password alone will sign you in.');
  }
  ctx.audit({
    action: 'factors.remove',
    target: { kind: 'user', id: userId, name: email },
    before: { kind: factor.kind, name: factor.name },
    after: null,
  });
  return factor;
}

async function requireFactor(ctx: MutationCtx, id: string): Promise<FactorRecord> {
  const factors = await listFactors(ctx.db, { userId: ctx.caller.userId });
  return orNotFound(factors.find((factor) => factor.id === id));
}

/** Ends sessions of members without a factor, except the caller's and those of people who are in other tenants too. */
export async function askForSecondFactor(ctx: MutationCtx, { tenantId }: { tenantId: string }) {
  const userIds = await filterPasswordOnly(ctx.db, await listMembersOfThisAlone(ctx.db, tenantId));
  const others = userIds.filter((id) => id !== ctx.caller.userId);
  const { length: people } = await endBrowserSessions(ctx, { userIds: others });
  if (people === 0) return;
  const who = `${people} ${people === 1 ? 'member without a second factor is' : 'members without a second factor are'}`;
  ctx.warn(`${who} signed out of their browsers and asked for a second factor at the next sign-in.`);
}

export async function resetFactors(ctx: MutationCtx, user: { id: string; email: string }): Promise<number> {
  const factors = await listFactors(ctx.db, { userId: user.id });
  await deleteFactorRows(ctx.db, user.id);
  ctx.audit({
    action: 'factors.reset',
    target: { kind: 'user', id: user.id, name: user.email },
    before: { factors: factors.map(({ kind }) => kind) },
    after: { factors: [] },
  });
  return factors.length;
}
