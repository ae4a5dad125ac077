import { type ClientBase, escapeIdentifier as ident } from 'pg';

/** Why a server can not hold databases of apps, with the statements that help. */
export type Obstacle =
  | { kind: 'may_not_create'; login: string }
  | { kind: 'open_to_all'; databases: string[] };

interface OpenDatabase {
  name: string;
  /** Ours to close, where we may: the one we are connected to, those that every server has, and those of apps. */
  closable: boolean;
}

/**
 * PostgreSQL lets every role into every database unless told otherwise. A role of an app must be let into its own
 * alone, so all others must be closed to PUBLIC.
 */
export async function findObstacle(admin: ClientBase): Promise<Obstacle | null> {
  const { rows } = await admin.query<{ login: string; may: boolean }>(
    `select rolname as login, rolsuper or (rolcreaterole and rolcreatedb) as may
     from pg_roles where rolname = current_user`,
  );
  const [role] = rows;
  if (!role?.may) return { kind: 'may_not_create', login: role?.login ?? '' };
  const databases = (await openDatabases(admin)).filter(({ closable }) => !closable).map(({ name }) => name);
  return databases.length === 0 ? null : { kind: 'open_to_all', databases };
}

/** What is ours is closed before the first database of an app is made; the operator's own is not touched. */
export async function closeOwnDatabases(admin: ClientBase): Promise<void> {
  for (const { name, closable } of await openDatabases(admin)) {
    if (closable) await admin.query(`revoke connect on database ${ident(name)} from public`);
  }
}

/** For the operator: names of other databases are not for the owners of apps. */
export function describeObstacle(obstacle: Obstacle): string {
  if (obstacle.kind === 'may_not_create') {
    return `Databases of apps need a login that may make them. Let an administrator run: alter role ${ident(obstacle.login)} createrole createdb; or set SVC_RAW_DATABASE_URL.`;
  }
  const names = obstacle.databases.map((name) => ident(name)).join(', ');
  return `Databases of apps need a server that lets no login into others. Let an administrator run: revoke connect on database ${names} from public; or set SVC_RAW_DATABASE_URL.`;
}

async function openDatabases(admin: ClientBase): Promise<OpenDatabase[]> {
  const { rows } = await admin.query<OpenDatabase>(
    `select datname as name,
       (datname in (current_database(), 'postgres', 'template1') or datname ~ '^svc_raw_')
         and pg_has_role(current_user, datdba, 'usage') as closable
     from pg_database
     where datallowconn and has_database_privilege('public', oid, 'connect') order by datname`,
  );
  return rows;
}
