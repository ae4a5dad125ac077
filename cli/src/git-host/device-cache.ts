import { createHash } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  type Stats,
} from 'node:fs';
import { dirname, join } from 'node:path';
import type { Ctx } from '../context.ts';
import { CliError } from '../errors.ts';
import { replaceFile, withLock } from '../profile-store.ts';
import { isDeviceCode } from './is-device-code.ts';

/** A code of the git host that a person is to approve, kept so that another command can go on with it. */
export interface DeviceCode {
  /** A secret: never shown but where it was asked for. */
  device_code: string;
  /** `null` where only the secret is known, as with `--device-code`. */
  user_code: string | null;
  verification_uri: string | null;
  expires_at: string | null;
  /** Grows when the host asks to slow down, for good. */
  interval_seconds: number;
  /** By the clock of this machine: one and the same writes it and reads it. */
  next_poll_at: string;
  purpose: CodePurpose;
  /** Of a bootstrap that waits for it. */
  run_id: string | null;
}

export type CodePurpose = 'link' | 'connect' | 'bootstrap';

/** Whose code it is: a code counts for one person in one tenant of one server. */
export interface CodePlace {
  configDir: string;
  profile: string;
  baseUrl: string;
  tenant: string;
}

const folderName = 'git-host';
const bytesMax = 64 * 1024;

export function codeFile(place: CodePlace): string {
  const key = createHash('sha256').update(`${place.baseUrl}\n${place.tenant}`).digest('hex').slice(0, 16);
  return join(place.configDir, folderName, `${place.profile}.${key}.json`);
}

/** What can not be trusted or understood is as good as none, and said so. */
export function readCode(ctx: Ctx, place: CodePlace): DeviceCode | null {
  const path = codeFile(place);
  const found = contentOf(path);
  if (found === null) return null;
  const code = 'fault' in found ? null : asCode(found.text, place);
  if (code === null)
    ctx.note(`${path} ${'fault' in found ? found.fault : 'does not hold a code of svc'}; it is not used.`);
  return code;
}

/** Losing it is no reason to end what a person is busy with. */
export async function keepCode(ctx: Ctx, place: CodePlace, code: DeviceCode): Promise<void> {
  const path = codeFile(place);
  const { profile, baseUrl: base_url, tenant } = place;
  try {
    await withLock(place.configDir, ctx.signal, async () => {
      makeFolder(dirname(path));
      replaceFile(path, { profile, base_url, tenant, ...code }, 0o600);
    });
  } catch (cause) {
    if (!(cause instanceof CliError) || cause.code !== 'config_not_writable') throw cause;
    ctx.note(`The code is not kept, so --resume-last will not find it: ${cause.message}`);
  }
}

/** Only the one that was meant: another command may have begun anew meanwhile. */
export function forgetCode(place: CodePlace, deviceCode: string): void {
  const path = codeFile(place);
  const found = contentOf(path);
  if (found === null || 'fault' in found || asCode(found.text, place)?.device_code !== deviceCode) return;
  try {
    rmSync(path, { force: true });
  } catch {
    // It is of no use any more, and the server says so to whoever tries it.
  }
}

function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (cause) {
    if (codeOf(cause) !== 'EEXIST')
      throw new CliError('config_not_writable', `${folder} can not be made.`, { cause });
  }
  const fault = folderFault(folder);
  if (fault !== null) throw new CliError('config_not_writable', `${folder} ${fault}.`);
}

type Content = { text: string } | { fault: string };

/** `null`: there is none. */
function contentOf(path: string): Content | null {
  const fault = folderFault(dirname(path));
  if (fault !== null) return fault === absent ? null : { fault: `lies in a folder that ${fault}` };
  let file: number;
  try {
    file = openSync(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
  } catch (cause) {
    const code = codeOf(cause);
    if (code === 'ENOENT') return null;
    return { fault: code === 'ELOOP' ? 'is a symbolic link' : `can not be read (${code})` };
  }
  try {
    const entry = fstatSync(file);
    if (!entry.isFile()) return { fault: 'is not a file' };
    const open = openness(entry, 0o077);
    if (open !== null) return { fault: open };
    if (entry.size > bytesMax) return { fault: 'is too large' };
    return { text: readFileSync(file, 'utf8') };
  } finally {
    closeSync(file);
  }
}

const absent = 'is absent';

function folderFault(folder: string): string | null {
  let entry: Stats;
  try {
    entry = lstatSync(folder);
  } catch (cause) {
    const code = codeOf(cause);
    return code === 'ENOENT' || code === 'ENOTDIR' ? absent : `can not be read (${code})`;
  }
  if (!entry.isDirectory()) return entry.isSymbolicLink() ? 'is a symbolic link' : 'is no folder';
  // Others may look at names; who could put a file there could have their own code approved.
  return openness(entry, 0o022);
}

function codeOf(cause: unknown): string {
  return cause instanceof Error && 'code' in cause ? String(cause.code) : '';
}

function openness(entry: Stats, others: number): string | null {
  if (process.platform === 'win32') return null;
  if (entry.uid !== process.getuid?.()) return 'belongs to somebody else';
  return (entry.mode & others) === 0 ? null : 'is open to others';
}

function asCode(text: string, place: CodePlace): DeviceCode | null {
  let data: Record<string, unknown>;
  try {
    data = Object(JSON.parse(text));
  } catch {
    return null;
  }
  const { device_code, interval_seconds, next_poll_at, purpose } = data;
  if (data.profile !== place.profile || data.base_url !== place.baseUrl || data.tenant !== place.tenant)
    return null;
  if (typeof device_code !== 'string' || !isDeviceCode(device_code)) return null;
  if (typeof interval_seconds !== 'number' || !(interval_seconds >= 0)) return null;
  if (typeof next_poll_at !== 'string' || Number.isNaN(Date.parse(next_poll_at))) return null;
  if (purpose !== 'link' && purpose !== 'connect' && purpose !== 'bootstrap') return null;
  const [user_code, verification_uri, expires_at, run_id] = [
    ...['user_code', 'verification_uri', 'expires_at', 'run_id'].map((name) => textOf(data[name])),
  ];
  return {
    ...{ device_code, interval_seconds, next_poll_at, purpose },
    user_code: user_code ?? null,
    verification_uri: verification_uri ?? null,
    expires_at: expires_at ?? null,
    run_id: run_id ?? null,
  };
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}
