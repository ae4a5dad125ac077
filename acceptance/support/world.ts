import { admin } from './commands.ts';
import type { Letter } from './document.ts';
import { type Call, caller, newPerson, newTenant, type Person, type Tenant } from './people.ts';
import type { RunningServer } from './server.ts';

/** The seven principals of the authorization table, in and around one tenant. */
export interface World {
  tenant: Tenant;
  /** A call as the principal. */
  as: Record<Letter, Call>;
  people: Record<'O' | 'C' | 'A' | 'M' | 'X', Person>;
  /** Whose own records a call of this principal aims at: its own, or, where it has none, somebody else's. */
  ownerFor(letter: Letter): Person;
  /** Users of the platform for the tenant to take in and to let go. */
  bystanders: { toAdd: string; toRemove: string };
  /** A token of the admin for rows, with `read` and `write`. */
  pat: string;
}

export async function newWorld(on?: RunningServer): Promise<World> {
  const tenant = await newTenant(on);
  const { server } = tenant;
  // Until there are apps to own, owner and co-owner are members with records of their own.
  const member = { tenant: tenant.id, role: 'tenant_member' } as const;
  const bystander = () => admin(server, ['users', 'create', `by-${Bun.randomUUIDv7()}@example.test`]);
  const [owner, coOwner, toAdd, toRemove, pat] = await Promise.all([
    newPerson(server, member),
    newPerson(server, member),
    bystander(),
    bystander(),
    tenant.admin.call('POST', `${tenant.base}/pats`, { name: 'rows', actions: ['read', 'write'] }),
  ]);
  const people = { O: owner, C: coOwner, A: tenant.admin, M: tenant.member, X: tenant.outsider };
  const secret: string = pat.body.secret;
  return {
    tenant,
    people,
    as: {
      O: owner.call,
      C: coOwner.call,
      A: tenant.admin.call,
      M: tenant.member.call,
      P: caller(server, { 'x-api-key': secret }),
      N: caller(server, {}),
      X: tenant.outsider.call,
    },
    ownerFor: (letter) => {
      if (letter === 'P') return people.A;
      if (letter === 'N' || letter === 'X') return people.M;
      return people[letter];
    },
    bystanders: { toAdd: toAdd.id!, toRemove: toRemove.id! },
    pat: secret,
  };
}
