import { admin } from './commands.ts';
import { type Answered, caller, type Tenant } from './people.ts';

/** The directory of a tenant: calls below `/scim/v2` with its token. */
export interface Directory {
  tokenId: string;
  call(method: string, path: string, body?: unknown): Promise<Answered>;
  /** The body of a successful response. */
  done(method: string, path: string, body?: unknown): Promise<Answered['body']>;
}

export async function newDirectory({ server, slug }: Pick<Tenant, 'server' | 'slug'>): Promise<Directory> {
  const { id, token } = await admin(server, ['scim-token', 'create', slug]);
  const ask = caller(server, { authorization: `Bearer ${token}` }, '/scim/v2');
  const call: Directory['call'] = (method, path, body) =>
    ask(method, path, body, body === undefined ? {} : { 'content-type': 'application/scim+json' });
  return {
    tokenId: id!,
    call,
    async done(...args) {
      const { status, body } = await call(...args);
      if (status >= 300) throw new Error(`${args[0]} ${args[1]} gave ${status}: ${JSON.stringify(body)}`);
      return body;
    },
  };
}

export const patchOf = (...Operations: object[]) => ({
  schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
  Operations,
});
