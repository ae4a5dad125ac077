import { type Client, escapeIdentifier as ident, escapeLiteral as literal } from 'pg';

/** Which installation made a database; null where it was not said yet, or there is none. */
export async function readTag(admin: Client, name: string): Promise<string | null> {
  const { rows } = await admin.query<{ tag: string | null }>(
    `select shobj_description(oid, 'pg_database') as tag from pg_database where datname = $1`,
    [name],
  );
  return rows[0]?.tag ?? null;
}

export async function writeTag(admin: Client, name: string, installation: string): Promise<void> {
  await admin.query(`comment on database ${ident(name)} is ${literal(tagOf(installation))}`);
}

/** A copy of a system that came out of a back-up knows names that are the original's. */
export async function isOthers(admin: Client, name: string, installation: string): Promise<boolean> {
  const tag = await readTag(admin, name);
  return tag !== null && tag !== tagOf(installation);
}

export function tagOf(installation: string): string {
  return `svc ${installation}`;
}
