import type { Ctx } from '../context.ts';
import { usageError } from '../framework/errors.ts';
import { readInputText } from '../inputs/files.ts';

interface ConnectionFlags {
  host?: string | undefined;
  port?: number | undefined;
  database?: string | undefined;
  username?: string | undefined;
  'password-stdin'?: boolean | undefined;
  tls?: 'disable' | 'require' | 'verify-ca' | 'verify-full' | undefined;
  'ca-file'?: string | undefined;
}

/** Undefined if no flag belongs to the connection. */
export async function connectionFields(ctx: Ctx, flags: ConnectionFlags, extent: 'whole' | 'part') {
  const { host, port, database, username, tls } = flags;
  const caFile = flags['ca-file'];
  const fields = {
    host,
    port,
    database,
    username,
    tls,
    ca_certificate:
      caFile === undefined || caFile === ''
        ? caFile
        : await readInputText(ctx, caFile, { bytesMax: 64 * 1024 }),
    password: flags['password-stdin'] ? await readPassword(ctx) : undefined,
  };
  const isEmpty = Object.values(fields).every((value) => value === undefined);
  if (isEmpty) return undefined;
  const missing = (['host', 'database', 'username'] as const).filter((name) => flags[name] === undefined);
  if (extent === 'whole' && missing.length > 0)
    throw usageError(`Also give ${missing.map((name) => `--${name}`).join(' and ')}.`);
  // The server requires them for a connection that is new.
  return fields as typeof fields & { host: string; database: string; username: string };
}

async function readPassword(ctx: Ctx): Promise<string> {
  const text = (await ctx.io.readInput()).replace(/\r?\n$/, '');
  if (text === '' || /[\r\n]/.test(text))
    throw usageError('Standard input must have one line: the password of the login.');
  return text;
}
