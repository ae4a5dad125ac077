import { admin } from './commands.ts';
import { type RunningServer, sharedServer } from './server.ts';

export interface Person {
  id: string;
  email: string;
  token: string;
  /** A call as this person. */
  call: Call;
}

export type Call = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
) => Promise<Answered>;

export interface Answered {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape.
  body: any;
}

export interface Tenant {
  server: RunningServer;
  id: string;
  slug: string;
  admin: Person;
  member: Person;
  outsider: Person;
  /** `/api/v1/tenants/<id>` */
  base: string;
}

export function caller(server: RunningServer, credential: Record<string, string>): Call {
  return async (method, path, body, headers = {}) => {
    const response = await fetch(server.baseUrl + path, {
      method,
      redirect: 'manual',
      headers: {
        ...credential,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = /json/.test(response.headers.get('content-type') ?? '');
    return {
      status: response.status,
      headers: response.headers,
      body: isJson && text ? JSON.parse(text) : text,
    };
  };
}

let people = 0;
const newEmail = () => `p${++people}-${Bun.randomUUIDv7().slice(-12)}@example.test`;
const newSlug = (letter: string) => `${letter}-${Bun.randomUUIDv7().replaceAll('-', '').slice(-16)}`;

type Role = 'tenant_member' | 'tenant_admin';

export async function newPerson(
  server: RunningServer,
  member?: { tenant: string; role: Role },
): Promise<Person> {
  const email = newEmail();
  const results = await batch(server, personLines(email, member));
  return personOf(server, email, results);
}

/** A tenant of the test's own: nothing in it but an admin and a member. The outsider is in another tenant. */
export async function newTenant(on?: RunningServer): Promise<Tenant> {
  const server = on ?? (await sharedServer());
  const slug = newSlug('t');
  const [adminEmail, memberEmail] = [newEmail(), newEmail()];
  const adminLines = personLines(adminEmail, { tenant: slug, role: 'tenant_admin' });
  const memberLines = personLines(memberEmail, { tenant: slug, role: 'tenant_member' });
  const [tenant, ...rest] = await batch(server, [['tenants', 'create', slug], ...adminLines, ...memberLines]);
  const id = String(tenant?.id);
  return {
    server,
    id,
    slug,
    admin: personOf(server, adminEmail, rest.slice(0, adminLines.length)),
    member: personOf(server, memberEmail, rest.slice(adminLines.length)),
    outsider: await anOutsider(server),
    base: `/api/v1/tenants/${id}`,
  };
}

function personLines(email: string, member?: { tenant: string; role: Role }): string[][] {
  const joins = member
    ? [['members', 'set', '--tenant', member.tenant, '--user', email, '--role', member.role]]
    : [];
  return [['users', 'create', email], ...joins, ['tokens', 'issue', '--user', email]];
}

function personOf(server: RunningServer, email: string, results: Record<string, unknown>[]): Person {
  const token = String(results.at(-1)?.access_token);
  return {
    id: String(results[0]?.id),
    email,
    token,
    call: caller(server, { authorization: `Bearer ${token}` }),
  };
}

function batch(server: RunningServer, lines: string[][]): Promise<Record<string, unknown>[]> {
  return Promise.all(lines.map((line) => admin<Record<string, unknown>>(server, line)));
}

const outsiders = new Map<RunningServer, Promise<Person>>();

function anOutsider(server: RunningServer): Promise<Person> {
  let outsider = outsiders.get(server);
  if (!outsider) {
    outsider = (async () => {
      const slug = newSlug('x');
      await admin(server, ['tenants', 'create', slug]);
      return newPerson(server, { tenant: slug, role: 'tenant_admin' });
    })();
    outsiders.set(server, outsider);
  }
  return outsider;
}
