import { admin } from './commands.ts';
import type { Letter } from './document.ts';
import { holdRuns } from './git-repos.ts';
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
  /** A private one: O is its owner, C its co-owner. */
  app: App;
  /** A token of the owner's for rows, with `read` and `write`, for all they may reach in the tenant. */
  pat: string;
}

export interface App {
  id: string;
  slug: string;
}

export async function newWorld(on?: RunningServer): Promise<World> {
  const tenant = await newTenant(on);
  const { server } = tenant;
  await holdRuns(tenant);
  const member = { tenant: tenant.id, role: 'tenant_member' } as const;
  const bystander = () => admin(server, ['users', 'create', `by-${Bun.randomUUIDv7()}@example.test`]);
  const [owner, coOwner, toAdd, toRemove] = await Promise.all([
    newPerson(server, member),
    newPerson(server, member),
    bystander(),
    bystander(),
  ]);
  const [app, pat] = await Promise.all([
    newApp(tenant, { owner, coOwner }),
    owner.call('POST', `${tenant.base}/pats`, { name: 'rows', actions: ['read', 'write'] }),
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
      if (letter === 'P') return people.O;
      if (letter === 'N' || letter === 'X') return people.M;
      return people[letter];
    },
    bystanders: { toAdd: toAdd.id!, toRemove: toRemove.id! },
    app,
    pat: secret,
  };
}

/** A private app; where owner and co-owner are the same person, there is no co-owner. */
export async function newApp(
  { base }: Pick<Tenant, 'base'>,
  { owner, coOwner }: { owner: Person; coOwner: Person },
): Promise<App> {
  const name = `app-${Bun.randomUUIDv7().replaceAll('-', '').slice(-20)}`;
  const made = await owner.call('POST', `${base}/apps`, { name });
  const { id, slug } = made.body;
  if (made.status !== 201) throw new Error(`An app could not be made: ${JSON.stringify(made.body)}`);
  if (coOwner.id === owner.id) return { id, slug };
  const added = await owner.call('POST', `${base}/apps/${id}/co-owners`, { user_id: coOwner.id });
  if (added.status !== 201) throw new Error(`No co-owner was added: ${JSON.stringify(added.body)}`);
  return { id, slug };
}
