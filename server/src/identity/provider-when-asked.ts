import { createIdentityProvider, type IdentityProvider, type IdentityProviderOptions } from './provider.ts';

/**
 * The provider, made with the first request to it: it takes as long as half of all else that a start does, and a server
 * whose people are signed in may not be asked for hours. With a provider of others behind it, a fault of its settings has
 * to be known at once.
 */
export async function providerWhenAsked(options: IdentityProviderOptions): Promise<IdentityProvider> {
  if (options.upstream) return createIdentityProvider(options);
  let made: Promise<IdentityProvider> | null = null;
  const provider = () => {
    made ??= createIdentityProvider(options).catch((error: unknown) => {
      // The database may be away for a moment.
      made = null;
      throw error;
    });
    return made;
  };
  return {
    handle: async (request, url, info) => (await provider()).handle(request, url, info),
    stop: async () => made?.then((it) => it.stop()),
  };
}
