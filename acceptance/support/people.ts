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

export async function newPerson(
  server: RunningServer,
  member?: { tenant: string; role: 'tenant_member' | 'tenant_admin' },
): Promise<Person> {
  const email = `p${++people}-${Bun.randomUUIDv7().slice(-12)}@example.test`;
  const { id } = await admin<{ id: string }>(server, ['users', 'create', email]);
  if (member)
    await admin(server, ['members', 'set', '--tenant', member.tenant, '--user', id, '--role', member.role]);
  const { access_token: token } = await admin<{ access_token: string }>(server, [
    'tokens',
    'issue',
    '--user',
    id,
  ]);
  return { id, email, token, call: caller(server, { authorization: `Bearer ${token}` }) };
}

/** A tenant of the test's own: nothing in it but an admin and a member. The outsider is in another tenant. */
export async function newTenant(on?: RunningServer): Promise<Tenant> {
  const server = on ?? (await sharedServer());
  const slug = `t-${Bun.randomUUIDv7().replaceAll('-', '').slice(-16)}`;
  const { id } = await admin<{ id: string }>(server, ['tenants', 'create', slug]);
  const [owner, member, outsider] = await Promise.all([
    newPerson(server, { tenant: id, role: 'tenant_admin' }),
    newPerson(server, { tenant: id, role: 'tenant_member' }),
    anOutsider(server),
  ]);
  return { server, id, slug, admin: owner, member, outsider, base: `/api/v1/tenants/${id}` };
}

const outsiders = new Map<RunningServer, Promise<Person>>();

function anOutsider(server: RunningServer): Promise<Person> {
  let outsider = outsiders.get(server);
  if (!outsider) {
    outsider = (async () => {
      const slug = `x-${Bun.randomUUIDv7().replaceAll('-', '').slice(-16)}`;
      const { id } = await admin<{ id: string }>(server, ['tenants', 'create', slug]);
      return newPerson(server, { tenant: id, role: 'tenant_admin' });
    })();
    outsiders.set(server, outsider);
  }
  return outsider;
}
