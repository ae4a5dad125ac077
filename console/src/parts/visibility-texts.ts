import type { visibilities } from '@svc/contract/apps.ts';

export type Visibility = (typeof visibilities)[number];

/** Who finds and uses an app of each visibility. */
export const seenBy: Readonly<Record<Visibility, string>> = {
  private: 'its owner and co-owners',
  invite_only: 'its owners and the people they have invited',
  public: 'every member of the tenant',
  internet: 'everybody on the internet, without signing in',
};

export const visibilityNames: Readonly<Record<Visibility, string>> = {
  private: 'Private',
  invite_only: 'By invitation',
  public: 'Public in the tenant',
  internet: 'Internet',
};
