import type { Answer, Cell, Endpoint, Principal } from '@svc/contract/endpoint.ts';
import { getMe } from '@svc/contract/identity.ts';
import { useQuery } from '@tanstack/react-query';
import { createContext, useContext } from 'react';
import { client, isCode, meKey } from './client.ts';

export type Me = Answer<NonNullable<typeof getMe.shape>>;
export type OwnTenant = Me['tenants'][number];

export function useOptionalMe() {
  return useQuery({
    queryKey: meKey,
    queryFn: async (): Promise<Me | null> => {
      try {
        return await client.call(getMe, {});
      } catch (error) {
        if (isCode(error, 'unauthenticated')) return null;
        throw error;
      }
    },
    staleTime: 60_000,
  });
}

const MeContext = createContext<Me | null>(null);
export const MeProvider = MeContext.Provider;

export function useMe(): Me {
  const me = useContext(MeContext);
  if (!me) throw new Error('useMe needs a signed-in user.');
  return me;
}

const TenantContext = createContext<OwnTenant | null>(null);
export const TenantProvider = TenantContext.Provider;

export function useTenant(): OwnTenant {
  const tenant = useContext(TenantContext);
  if (!tenant) throw new Error('useTenant needs a tenant in the URL.');
  return tenant;
}

export interface Caller {
  role: OwnTenant['role'];
  relation?: 'owner' | 'co_owner' | 'member' | 'none';
}

const principalNames: Record<'O' | 'C' | 'A' | 'M', string> = {
  O: 'its owner',
  C: 'its co-owners',
  A: 'tenant admins',
  M: 'members',
};

/**
 * Explains, by the contract's permission table, why the caller may not use an endpoint. The server enforces the
 * rule.
 */
export function whyNot(endpoint: Pick<Endpoint, 'who'>, asker: Caller): string | null {
  if (callerPrincipals(asker).some((one) => isAllowed(endpoint.who[one]))) return null;
  const allowed = (['O', 'C', 'A', 'M'] as const).filter((one) => endpoint.who[one] === 'y');
  return `Only ${joinWords(allowed.map((one) => principalNames[one]))} may do this.`;
}

function callerPrincipals({ role, relation }: Caller): Principal[] {
  const all: Principal[] = [];
  if (relation === 'owner') all.push('O');
  if (relation === 'co_owner') all.push('C');
  if (role === 'tenant_admin') all.push('A');
  return all.length > 0 ? all : ['M'];
}

const isAllowed = (cell: Cell) => cell !== 'n';

function joinWords(words: readonly string[]): string {
  if (words.length < 2) return words[0] ?? 'others';
  return `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;
}
