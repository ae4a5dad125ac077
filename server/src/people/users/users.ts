import type { User } from '@svc/contract/identity.shapes.ts';
import { passwordCharsMin } from '@svc/contract/identity.ts';
import { isSafeName, safeNameExpected } from '@svc/contract/safe-names.ts';
import type { ZxcvbnResult } from '@zxcvbn-ts/core';
import type { z } from 'zod';
import type { Ctx, MutationCtx } from '../../core/context.ts';
import { fail, orNotFound, validationError } from '../../core/problem.ts';
import { userTag } from '../../core/tags.ts';
import { publishPersonEvent } from '../person-events.ts';
import {
  findUserRow,
  findUserRows,
  insertUserRow,
  listUserRows,
  lockUserRow,
  type UserRow,
  updateUserRow,
} from './store.ts';

export type UserRecord = z.output<typeof User>;

const emailCharsMax = 254;
export const userNameCharsMax = 200;

/** Deliberately loose: one `@`, text on both sides, no unprintable characters. */
function parseEmail(text: string): string {
  const email = text.trim().toLowerCase();
  if (email.length > emailCharsMax || !/^[^\s@\p{C}]+@[^\s@\p{C}]+$/u.test(email)) {
    throw validationError('email', 'must be an e-mail address');
  }
  return email;
}

function parseName(text: string, email: string): string {
  const name = text.trim() || email.slice(0, email.indexOf('@'));
  if ([...name].length > userNameCharsMax)
    throw validationError('name', `must be at most ${userNameCharsMax} characters`);
  if (!isSafeName(name)) throw validationError('name', safeNameExpected);
  return name;
}

function userRecord({ id, email, name, status }: UserRow): UserRecord {
  return { id, email, name, status };
}

const passwordBytesMax = 1024;
/** On a scale of 0 to 4. A password below needs fewer than 10^6 guesses. */
const scoreMin = 2;
const ownCharsMin = 5;

/** `about`: words that the password must not consist of, such as the user's name. */
async function checkNewPassword(password: string, about: readonly string[]): Promise<string> {
  if ([...password].length < passwordCharsMin)
    throw validationError('password', `must be at least ${passwordCharsMin} characters`);
  if (Buffer.byteLength(password) > passwordBytesMax)
    throw validationError('password', `must be at most ${passwordBytesMax} bytes`);
  if (consistsOf(password, about.flatMap(words)))
    throw validationError('password', 'is made of the name or the address', 'too_common');
  const { score, feedback } = await estimateGuesses(password, about);
  if (score < scoreMin)
    throw validationError(
      'password',
      ['is too easy to guess', feedback.warning].filter(Boolean).join(': ').replace(/\.$/, ''),
      'too_common',
    );
  return password;
}

export async function estimateGuesses(password: string, about: readonly string[]): Promise<ZxcvbnResult> {
  return (await loadEstimate())(password, [...about, ...about.flatMap(words)]);
}

function consistsOf(password: string, names: readonly string[]): boolean {
  const longestFirst = names.map((name) => name.toLowerCase()).sort((a, b) => b.length - a.length);
  const rest = longestFirst.reduce((text, name) => text.replaceAll(name, ' '), password.toLowerCase());
  return rest !== password.toLowerCase() && rest.replace(/[^\p{L}\p{N}]+/gu, '').length < ownCharsMin;
}

const words = (text: string) => text.split(/[^\p{L}\p{N}]+/u).filter((word) => word.length > 2);

type Estimate = (password: string, about: string[]) => ZxcvbnResult;

let loading: Promise<Estimate> | undefined;

/** To be called before a transaction that sets a password: loading takes longer than one should last. */
export async function loadPasswordRules(): Promise<void> {
  await loadEstimate();
}

/** Loaded on first use: the dictionaries take several megabytes. */
function loadEstimate(): Promise<Estimate> {
  loading ??= (async () => {
    const [{ zxcvbn, zxcvbnOptions }, common, english] = await Promise.all([
      import('@zxcvbn-ts/core'),
      import('@zxcvbn-ts/language-common'),
      import('@zxcvbn-ts/language-en'),
    ]);
    zxcvbnOptions.setOptions({ graphs: common.adjacencyGraphs, translations: english.translations });
    const dictionaries = Object.entries({ ...common.dictionary, ...english.dictionary });
    return (password, about) => {
      const canContain = createFilter(password, zxcvbnOptions.l33tTable);
      for (const [name, list] of dictionaries) {
        zxcvbnOptions.rankedDictionaries[name] = rankWords(list, canContain);
        zxcvbnOptions.rankedDictionariesMaxWordSize[name] = password.length;
      }
      return zxcvbn(password, about);
    };
  })();
  return loading;
}

/** Ranks of 200,000 words would take a third of a second: only words that this password can contain. */
function rankWords(list: readonly (string | number)[], canContain: (word: string) => boolean) {
  const ranks: Record<string, number> = {};
  for (const [at, entry] of list.entries()) {
    const word = String(entry);
    if (canContain(word)) ranks[word] = at + 1;
  }
  return ranks;
}

/** By length and letters, with those that others may stand for, as 4 for a. */
function createFilter(password: string, replaced: Readonly<Record<string, readonly string[]>>) {
  const lower = password.toLowerCase();
  const letters = Object.keys(replaced).filter((letter) =>
    replaced[letter]?.some((text) => lower.includes(text)),
  );
  const codes = new Set([...lower.split(''), ...letters].map((each) => each.charCodeAt(0)));
  return (word: string) => {
    if (word.length > password.length) return false;
    for (let at = 0; at < word.length; at++) if (!codes.has(word.charCodeAt(at))) return false;
    return true;
  };
}

export async function listUsers(ctx: Pick<Ctx, 'db'>): Promise<UserRecord[]> {
  return (await listUserRows(ctx.db)).map(userRecord);
}

export async function findUser(ctx: Pick<Ctx, 'db'>, { ref }: { ref: string }): Promise<UserRecord | null> {
  // PostgreSQL rejects NUL in text.
  const row = ref.includes('\0') ? undefined : await findUserRow(ctx.db, ref);
  return row ? userRecord(row) : null;
}

export async function findUsers(
  ctx: Pick<Ctx, 'db'>,
  { ids }: { ids: readonly string[] },
): Promise<ReadonlyMap<string, UserRecord>> {
  const rows = ids.length === 0 ? [] : await findUserRows(ctx.db, ids);
  return new Map(rows.map((row) => [row.id, userRecord(row)]));
}

/** Without a password, the user signs in through an upstream provider or an issued token only. */
export async function createUser(
  ctx: MutationCtx,
  input: { email: string; name?: string; password?: string; provisionedBy?: string },
): Promise<UserRecord> {
  const email = parseEmail(input.email);
  const name = parseName(input.name ?? '', email);
  const row: UserRow = {
    id: ctx.newId(),
    email,
    name,
    password_hash:
      input.password === undefined ? null : await hashNewPassword(input.password, { email, name }),
    status: 'active',
    created_at: ctx.now,
    provisioned_by: input.provisionedBy ?? null,
  };
  if (!(await insertUserRow(ctx.db, row))) {
    throw fail('unique_violation', {
      detail: 'A user with this e-mail address already exists.',
      errors: [{ field: 'email', code: 'unique_violation', detail: 'is in use' }],
    });
  }
  ctx.audit({
    action: 'users.create',
    target: { kind: 'user', id: row.id, name: email },
    before: null,
    after: {
      email,
      name: row.name,
      status: row.status,
      password: row.password_hash === null ? 'none' : 'set',
    },
  });
  return userRecord(row);
}

export async function updateProfile(
  ctx: MutationCtx,
  input: { userId: string; email: string; name: string },
): Promise<void> {
  const row = orNotFound(await lockUserRow(ctx.db, input.userId));
  const email = parseEmail(input.email);
  const after = { email, name: parseName(input.name, email) };
  const other = await findUserRow(ctx.db, email);
  if (other && other.id !== row.id)
    throw fail('unique_violation', { detail: 'A user with this e-mail address already exists.' });
  ctx.audit({
    action: 'users.update',
    target: { kind: 'user', id: row.id, name: row.email },
    before: { email: row.email, name: row.name },
    after,
  });
  if (row.email === after.email && row.name === after.name) return;
  await updateUserRow(ctx.db, row.id, after);
  ctx.invalidate(userTag(row.id));
}

/** Ends every sign-in, except that of `keep`: the old password may have leaked. */
export async function setPassword(
  ctx: MutationCtx,
  { userId, password, keep }: { userId: string; password: string; keep?: string },
): Promise<void> {
  const user = orNotFound(await findUserRow(ctx.db, userId));
  const hash = await hashNewPassword(password, user);
  const row = orNotFound(await lockUserRow(ctx.db, userId));
  await updateUserRow(ctx.db, row.id, { password_hash: hash });
  await publishPersonEvent(ctx, 'passwordChanged', { userId: row.id, keep });
  ctx.audit({
    action: 'users.set_password',
    target: { kind: 'user', id: row.id, name: row.email },
    before: { password: row.password_hash === null ? 'none' : 'set' },
    after: { password: 'changed' },
  });
}

async function hashNewPassword(password: string, { email, name }: { email: string; name: string }) {
  return Bun.password.hash(await checkNewPassword(password, [email, name]));
}

export async function hasPassword(ctx: Pick<Ctx, 'db'>, { userId }: { userId: string }): Promise<boolean> {
  return ((await findUserRow(ctx.db, userId))?.password_hash ?? null) !== null;
}

/** Takes the same time whether the address or the password is wrong. */
export async function verifyPassword(
  ctx: Pick<Ctx, 'db'>,
  { email, password }: { email: string; password: string },
): Promise<UserRecord | null> {
  if (Buffer.byteLength(password) > passwordBytesMax) return null;
  // By address only, never by id. PostgreSQL rejects NUL in text.
  const isAddress = email.includes('@') && !email.includes('\0');
  const row = isAddress ? await findUserRow(ctx.db, email.trim()) : undefined;
  const matches = await Bun.password.verify(password, row?.password_hash ?? placeholderHash);
  return matches && row?.password_hash && row.status === 'active' ? userRecord(row) : null;
}

/** Verified for unknown addresses, at the default cost of `Bun.password.hash`. */
const placeholderHash =
  '$argon2id$v=19$m=65536,t=2,p=1$EEupRRIi/83Muys3tLLHLnthQdPXMM2CznYG82i9loQ$s2kv3ILY0GzIGv9fDjYxGyVhpTHzULdwbXv/GI8a1cg';

/** Ends every sign-in. PATs remain and are refused while their issuer is suspended. */
export async function suspendUser(ctx: MutationCtx, { userId }: { userId: string }): Promise<UserRecord> {
  const row = orNotFound(await lockUserRow(ctx.db, userId));
  // Also for a suspended user: a sign-in that was in progress may have completed since.
  await publishPersonEvent(ctx, 'suspended', { userId: row.id });
  return setStatus(ctx, row, { action: 'users.suspend', status: 'suspended' });
}

/** The user must sign in again; PATs become valid again. */
export async function activateUser(ctx: MutationCtx, { userId }: { userId: string }): Promise<UserRecord> {
  const row = orNotFound(await lockUserRow(ctx.db, userId));
  if (row.status !== 'active') await publishPersonEvent(ctx, 'activated', { userId: row.id });
  return setStatus(ctx, row, { action: 'users.activate', status: 'active' });
}

async function setStatus(
  ctx: MutationCtx,
  row: UserRow,
  { action, status }: { action: string; status: UserRow['status'] },
): Promise<UserRecord> {
  if (row.status !== status) await updateUserRow(ctx.db, row.id, { status });
  const target = { kind: 'user', id: row.id, name: row.email };
  ctx.audit({ action, target, before: { status: row.status }, after: { status } });
  return userRecord({ ...row, status });
}

export { filterActiveUsers, lockUserRow as lockUser } from './store.ts';
