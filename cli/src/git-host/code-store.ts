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
import { CliError } from '../framework/errors.ts';
import { withLock, writeFileAtomically } from '../session/profile-store.ts';
import { isDeviceCode } from './flags.ts';

export interface DeviceCode {
  /** Secret: only shown with --json when it is issued. */
  device_code: string;
  user_code: string | null;
  verification_uri: string | null;
  expires_at: string | null;
  interval_seconds: number;
  next_poll_at: string;
  purpose: CodePurpose;
  run_id: string | null;
}

export type CodePurpose = 'link' | 'connect' | 'bootstrap';

export interface CodeScope {
  configDir: string;
  profile: string;
  baseUrl: string;
  tenant: string;
}

const folderName = 'git-host';
const bytesMax = 64 * 1024;

export function codeFile(scope: CodeScope): string {
  const key = createHash('sha256').update(`${scope.baseUrl}\n${scope.tenant}`).digest('hex').slice(0, 16);
  return join(scope.configDir, folderName, `${scope.profile}.${key}.json`);
}

export function readCode(ctx: Ctx, scope: CodeScope): DeviceCode | null {
  const path = codeFile(scope);
  const found = readContent(path);
  if (found === null) return null;
  const code = 'fault' in found ? null : parseCode(found.text, scope);
  if (code === null) ctx.note(`${path} ${'fault' in found ? found.fault : 'is not a code of svc'}; ignored.`);
  return code;
}

/** A failure to store the code must not end the approval. */
export async function storeCode(ctx: Ctx, scope: CodeScope, code: DeviceCode): Promise<void> {
  const path = codeFile(scope);
  const { profile, baseUrl: base_url, tenant } = scope;
  try {
    await withLock(scope.configDir, ctx.signal, async () => {
      createFolder(dirname(path));
      writeFileAtomically(path, { profile, base_url, tenant, ...code }, 0o600);
    });
  } catch (cause) {
    if (!(cause instanceof CliError) || cause.code !== 'config_not_writable') throw cause;
    ctx.note(`The code is not stored, so --resume-last will not find it: ${cause.message}`);
  }
}

/** Deletes only this code: another command may have stored a new one. */
export function deleteCode(scope: CodeScope, deviceCode: string): void {
  const path = codeFile(scope);
  const found = readContent(path);
  if (found === null || 'fault' in found || parseCode(found.text, scope)?.device_code !== deviceCode) return;
  try {
    rmSync(path, { force: true });
  } catch {
    // The server rejects the code anyway.
  }
}

function createFolder(folder: string): void {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (cause) {
    if (errorCode(cause) !== 'EEXIST')
      throw new CliError('config_not_writable', `${folder} cannot be created.`, { cause });
  }
  const fault = folderFault(folder);
  if (fault !== null) throw new CliError('config_not_writable', `${folder} ${fault}.`);
}

type Content = { text: string } | { fault: string };

function readContent(path: string): Content | null {
  const fault = folderFault(dirname(path));
  if (fault !== null) return fault === absent ? null : { fault: `is in a folder that ${fault}` };
  let file: number;
  try {
    file = openSync(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
  } catch (cause) {
    const code = errorCode(cause);
    if (code === 'ENOENT') return null;
    return { fault: code === 'ELOOP' ? 'is a symbolic link' : `cannot be read (${code})` };
  }
  try {
    const entry = fstatSync(file);
    if (!entry.isFile()) return { fault: 'is not a file' };
    const open = permissionFault(entry, 0o077);
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
    const code = errorCode(cause);
    return code === 'ENOENT' || code === 'ENOTDIR' ? absent : `cannot be read (${code})`;
  }
  if (!entry.isDirectory()) return entry.isSymbolicLink() ? 'is a symbolic link' : 'is not a folder';
  // Another user who can write the file could have their own code approved.
  return permissionFault(entry, 0o022);
}

function errorCode(cause: unknown): string {
  return cause instanceof Error && 'code' in cause ? String(cause.code) : '';
}

function permissionFault(entry: Stats, others: number): string | null {
  if (process.platform === 'win32') return null;
  if (entry.uid !== process.getuid?.()) return 'belongs to another user';
  return (entry.mode & others) === 0 ? null : 'is accessible to other users';
}

function parseCode(text: string, scope: CodeScope): DeviceCode | null {
  let data: Record<string, unknown>;
  try {
    data = Object(JSON.parse(text));
  } catch {
    return null;
  }
  const { device_code, interval_seconds, next_poll_at, purpose } = data;
  if (data.profile !== scope.profile || data.base_url !== scope.baseUrl || data.tenant !== scope.tenant)
    return null;
  if (typeof device_code !== 'string' || !isDeviceCode(device_code)) return null;
  if (typeof interval_seconds !== 'number' || !(interval_seconds >= 0)) return null;
  if (typeof next_poll_at !== 'string' || Number.isNaN(Date.parse(next_poll_at))) return null;
  if (purpose !== 'link' && purpose !== 'connect' && purpose !== 'bootstrap') return null;
  const [user_code, verification_uri, expires_at, run_id] = [
    ...['user_code', 'verification_uri', 'expires_at', 'run_id'].map((name) => nonEmptyText(data[name])),
  ];
  return {
    device_code,
    interval_seconds,
    next_poll_at,
    purpose,
    user_code: user_code ?? null,
    verification_uri: verification_uri ?? null,
    expires_at: expires_at ?? null,
    run_id: run_id ?? null,
  };
}

function nonEmptyText(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}
