import type { Cell, Endpoint, Principal } from '@svc/contract/endpoint.ts';
import type { OwnTenant } from './me.ts';

/** What somebody is to a tenant and, where it is about one, to an app. */
export interface Asker {
  role: OwnTenant['role'];
  relation?: 'owner' | 'co_owner' | 'member' | 'none';
}

const names: Record<'O' | 'C' | 'A' | 'M', string> = {
  O: 'its owner',
  C: 'its co-owners',
  A: 'tenant admins',
  M: 'members',
};

/** Why somebody may not do it, by the table of the contract; null when they may. The server decides all the same. */
export function whyNot(endpoint: Pick<Endpoint, 'who'>, asker: Asker): string | null {
  if (principalsOf(asker).some((one) => isOpen(endpoint.who[one]))) return null;
  const allowed = (['O', 'C', 'A', 'M'] as const).filter((one) => endpoint.who[one] === 'y');
  return `Only ${listed(allowed.map((one) => names[one]))} may do this.`;
}

function principalsOf({ role, relation }: Asker): Principal[] {
  const all: Principal[] = [];
  if (relation === 'owner') all.push('O');
  if (relation === 'co_owner') all.push('C');
  if (role === 'tenant_admin') all.push('A');
  return all.length > 0 ? all : ['M'];
}

const isOpen = (cell: Cell) => cell !== 'n';

function listed(words: readonly string[]): string {
  if (words.length < 2) return words[0] ?? 'others';
  return `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;
}
