import pg from 'pg';
import { urlFor } from '../database/external.ts';

/** The address with a login and a database in it. */
export function rawUrl(
  address: string,
  { user, password, database }: { user: string; password: string; database: string },
): string {
  const url = new URL(urlFor(address, { user, password }));
  url.pathname = `/${database}`;
  return url.href;
}

/** The same login in another database of the server. */
export function inDatabase(url: string, database: string): string {
  const { user, password } = new pg.Client({ connectionString: url });
  return rawUrl(url, { user: user ?? '', password: password ?? '', database });
}

/** What of a connection string may be told: the rest (keys, options, other passwords) is between us and the server. */
const told = ['host', 'port', 'sslmode'];

export function addressOf(url: string): string {
  const address = new URL(rawUrl(url, { user: '', password: '', database: '' }));
  for (const name of [...address.searchParams.keys()])
    if (!told.includes(name)) address.searchParams.delete(name);
  address.hash = '';
  return address.href;
}

export function hostAndPort(address: string): { host: string; port: number } {
  const { host, port } = new pg.Client({ connectionString: address });
  return { host, port };
}
