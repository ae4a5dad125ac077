import { admin } from './commands.ts';
import { type Answered, type Call, caller, done, newTenant, type Tenant, uniqueName } from './people.ts';

export type Directory = Awaited<ReturnType<typeof newDirectory>>;

/** The directory of a tenant: calls below `/scim/v2` with its token. */
export async function newDirectory({ server, slug }: Pick<Tenant, 'server' | 'slug'>) {
  const { id, token } = await admin(server, ['scim-token', 'create', slug]);
  const ask = caller(server, { authorization: `Bearer ${token}` }, '/scim/v2');
  const call: Call = (method, path, body, headers) => {
    const type: Record<string, string> =
      body === undefined ? {} : { 'content-type': 'application/scim+json' };
    return ask(method, path, body, { ...type, ...headers });
  };
  return {
    tokenId: id!,
    call,
    done: (...args: Parameters<Call>) => done(call(...args)),
  };
}

export const patchOf = (...Operations: object[]) => ({
  schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
  Operations,
});

export const address = () => `${uniqueName('s')}@example.test`;
export const filterPath = (name: string, filter: string) => `/${name}?filter=${encodeURIComponent(filter)}`;

/** What Okta sends for a new user. */
export const oktaUser = (userName: string) => ({
  schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'],
  userName,
  name: { givenName: 'Test', familyName: 'User' },
  emails: [{ primary: true, value: userName, type: 'work' }],
  displayName: 'Test User',
  locale: 'en-US',
  externalId: uniqueName('00u'),
  groups: [],
  active: true,
});

export const newUser = (directory: Directory, fields: object = {}) =>
  directory.done('POST', '/Users', { ...oktaUser(address()), ...fields });

export async function newTenantWithDirectory(): Promise<{ t: Tenant; directory: Directory }> {
  const t = await newTenant();
  return { t, directory: await newDirectory(t) };
}

export function isScimError({ status, headers, body }: Answered): boolean {
  return (
    headers.get('content-type') === 'application/scim+json' &&
    body.schemas?.[0] === 'urn:ietf:params:scim:api:messages:2.0:Error' &&
    body.status === String(status) &&
    typeof body.detail === 'string'
  );
}
