import { admin } from './commands.ts';
import { type RunningServer, sharedServer } from './server.ts';

export interface Person {
  id: string;
  email: string;
  token: string;
  call: Call;
}

/** Objects are sent as JSON, strings and bytes as they are. */
export type Call = (
  method: string,
  path?: string,
  body?: unknown,
  headers?: Record<string, string>,
) => Promise<Answered>;

export interface Answered {
  status: number;
  headers: Headers;
  /** The body before it is parsed: JSON numbers may have more digits than JavaScript's. */
  text: string;
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

export const uniqueName = (word: string) => `${word}-${Bun.randomUUIDv7().replaceAll('-', '').slice(-20)}`;

export const bearer = ({ token }: Pick<Person, 'token'>) => ({ authorization: `Bearer ${token}` });

export function caller(server: RunningServer, credential: Record<string, string>, base = ''): Call {
  return async (method, path = '', body, headers = {}) => {
    const type: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' };
    const isRaw = body === undefined || typeof body === 'string' || body instanceof Uint8Array;
    const response = await fetch(server.baseUrl + base + path, {
      method,
      redirect: 'manual',
      headers: { ...credential, ...type, ...headers },
      body: (isRaw ? body : JSON.stringify(body)) as string | undefined,
      ...(server.ca && { tls: { ca: server.ca } }),
    });
    // A stream of events has no end.
    const isStream = response.headers.get('content-type') === 'text/event-stream';
    if (isStream) await response.body?.cancel();
    const text = isStream ? '' : await response.text();
    const isJson = /^application\/([\w.-]+\+)?json/.test(response.headers.get('content-type') ?? '');
    const { status, headers: received } = response;
    return { status, headers: received, text, body: isJson && text ? JSON.parse(text) : text };
  };
}

/** The body of a successful response; any other is thrown. */
export async function done(answer: Promise<Answered>): Promise<Answered['body']> {
  const { status, body } = await answer;
  if (status >= 300) throw new Error(`The request failed with ${status}: ${JSON.stringify(body)}`);
  return body;
}

type Role = 'tenant_member' | 'tenant_admin';

/** `svc-admin` runs the commands in this order. */
export async function newPerson(
  server: RunningServer,
  member?: { tenant: string; role: Role },
): Promise<Person> {
  const email = `${uniqueName('p')}@example.test`;
  const [{ id }, , person] = await Promise.all([
    admin(server, ['users', 'create', email]),
    member && setMember(server, email, member),
    withToken(server, { email }),
  ]);
  return { ...person, id: id! };
}

const setMember = (server: RunningServer, user: string, { tenant, role }: { tenant: string; role: Role }) =>
  admin(server, ['members', 'set', '--tenant', tenant, '--user', user, '--role', role]);

export async function withToken<T extends { email: string }>(server: RunningServer, user: T) {
  const { access_token } = await admin(server, ['tokens', 'issue', '--user', user.email]);
  const token = access_token!;
  return { ...user, token, call: caller(server, bearer({ token })) };
}

/** Signs the user in through an app: `<tenant>/<app>`. */
export async function tokenThrough(server: RunningServer, user: { email: string }, app: string) {
  const { access_token } = await admin(server, ['tokens', 'issue', '--user', user.email, '--through', app]);
  return access_token!;
}

export const newMember = ({ server, id }: Tenant): Promise<Person> =>
  newPerson(server, { tenant: id, role: 'tenant_member' });

export interface PasswordUser {
  id: string;
  email: string;
  name: string;
  password: string;
}

export async function newPasswordUser(
  server: RunningServer,
  tenant?: string,
  { name = '', role = 'tenant_member' }: { name?: string; role?: Role } = {},
): Promise<PasswordUser> {
  const password = `correct horse ${Bun.randomUUIDv7()}`;
  const email = `${(name || 'user').split(' ')[0]!.toLowerCase()}-${Bun.randomUUIDv7().slice(-12)}@example.test`;
  const line = ['users', 'create', email, '--password-stdin', ...(name ? ['--name', name] : [])];
  const { id } = await admin(server, line, `${password}\n`);
  if (tenant !== undefined) await setMember(server, email, { tenant, role });
  return { id: id!, email, name, password };
}

/** A tenant of the test's own, with an admin and a member. The outsider is in another tenant. */
export async function newTenant(on?: RunningServer): Promise<Tenant> {
  const server = on ?? (await sharedServer());
  const slug = uniqueName('t');
  const [tenant, tenantAdmin, member, outsider] = await Promise.all([
    admin(server, ['tenants', 'create', slug]),
    newPerson(server, { tenant: slug, role: 'tenant_admin' }),
    newPerson(server, { tenant: slug, role: 'tenant_member' }),
    sharedOutsider(server),
  ]);
  const id = tenant.id!;
  return { server, id, slug, admin: tenantAdmin, member, outsider, base: `/api/v1/tenants/${id}` };
}

const outsiders = new Map<RunningServer, Promise<Person>>();

function sharedOutsider(server: RunningServer): Promise<Person> {
  const tenant = uniqueName('x');
  const create = async () => {
    await admin(server, ['tenants', 'create', tenant]);
    return newPerson(server, { tenant, role: 'tenant_admin' });
  };
  const outsider = outsiders.get(server) ?? create();
  outsiders.set(server, outsider);
  return outsider;
}

export interface App {
  id: string;
  slug: string;
  subdomain: string;
  owner: Person;
  /** `/api/v1/tenants/<tenant>/apps/<app>` */
  base: string;
}

/** A private app; where owner and co-owner are the same person, there is no co-owner. */
export async function newApp(
  { base }: Pick<Tenant, 'base'>,
  { owner, coOwner = owner }: { owner: Person; coOwner?: Person },
  fields: object = {},
): Promise<App> {
  const body = { name: uniqueName('app'), ...fields };
  const { id, slug, subdomain } = await done(owner.call('POST', `${base}/apps`, body));
  const app = { id, slug, subdomain, owner, base: `${base}/apps/${id}` };
  if (coOwner.id !== owner.id)
    await done(owner.call('POST', `${app.base}/co-owners`, { user_id: coOwner.id }));
  return app;
}
