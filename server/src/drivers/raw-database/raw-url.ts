import pg from 'pg';
import { withLogin } from '../database/external.ts';

export function rawUrl(
  address: string,
  { user, password, database }: { user: string; password: string; database: string },
): string {
  const url = new URL(withLogin(address, { user, password }));
  url.pathname = `/${database}`;
  return url.href;
}

export function inDatabase(url: string, database: string): string {
  const { user, password } = new pg.Client({ connectionString: url });
  return rawUrl(url, { user: user ?? '', password: password ?? '', database });
}

/** The only parameters of a connection string that apps may see: others contain keys, options and passwords. */
const publicParameters = ['host', 'port', 'sslmode'];

export function publicAddress(url: string): string {
  const address = new URL(rawUrl(url, { user: '', password: '', database: '' }));
  for (const name of [...address.searchParams.keys()])
    if (!publicParameters.includes(name)) address.searchParams.delete(name);
  address.hash = '';
  return address.href;
}

export function hostAndPort(address: string): { host: string; port: number } {
  const { host, port } = new pg.Client({ connectionString: address });
  return { host, port };
}

export function rawName(id: string): string {
  return `svc_raw_${id.replaceAll('-', '')}`;
}

/** The role that reads the database for a build in review. */
export function readerName(database: string): string {
  return `${database}_review`;
}

export function isRawName(text: string): boolean {
  return /^svc_raw_[0-9a-f]{32}$/.test(text);
}
