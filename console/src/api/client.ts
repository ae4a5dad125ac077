import { createClient } from '@svc/contract/client.ts';
import { meKey, queryClient } from './query-client.ts';

/** The browser's session cookie says who asks; there is nothing here to keep secret. */
export const client = createClient({
  baseUrl: '',
  fetch: async (url, init) => {
    const response = await fetch(url, init);
    // Changes are no queries: where the session has ended, they too lead to the sign-in.
    if (response.status === 401) queryClient.setQueryData(meKey, null);
    return response;
  },
});
