import { admin } from './commands.ts';
import type { Letter } from './document.ts';
import { holdRuns } from './git.ts';
import { caller, newApp, newMember, newTenant, type Person } from './people.ts';
import type { RunningServer } from './server.ts';

export type World = Awaited<ReturnType<typeof newWorld>>;

/** The seven principals of the authorization table, in and around one tenant. */
export async function newWorld(on?: RunningServer) {
  const tenant = await newTenant(on);
  const { server } = tenant;
  await holdRuns(tenant);
  const bystander = () => admin(server, ['users', 'create', `by-${Bun.randomUUIDv7()}@example.test`]);
  const [owner, coOwner, toAdd, toRemove] = await Promise.all([
    newMember(tenant),
    newMember(tenant),
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
    /** The owner of the records that this principal calls: itself, or somebody else for a principal without records. */
    ownerFor: (letter: Letter): Person => {
      if (letter === 'P') return people.O;
      if (letter === 'N' || letter === 'X') return people.M;
      return people[letter];
    },
    bystanders: { toAdd: toAdd.id!, toRemove: toRemove.id! },
    /** A private app: O is its owner, C its co-owner. */
    app,
    /** A token of O for rows, with `read` and `write` on every app. */
    pat: secret,
  };
}
