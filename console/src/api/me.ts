import type { Answer } from '@svc/contract/endpoint.ts';
import { getMe } from '@svc/contract/identity.ts';
import { useQuery } from '@tanstack/react-query';
import { createContext, useContext } from 'react';
import { client } from './client.ts';
import { isCode, meKey } from './query-client.ts';

export type Me = Answer<NonNullable<typeof getMe.shape>>;
export type OwnTenant = Me['tenants'][number];

/** Who is signed in; null: nobody. */
export function useMaybeMe() {
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
  if (!me) throw new Error('Only pages of somebody who is signed in ask who it is.');
  return me;
}

const TenantContext = createContext<OwnTenant | null>(null);
export const TenantProvider = TenantContext.Provider;

/** The tenant of the address, with one's role in it. */
export function useTenant(): OwnTenant {
  const tenant = useContext(TenantContext);
  if (!tenant) throw new Error('Only pages below a tenant ask for it.');
  return tenant;
}
