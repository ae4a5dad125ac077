import type { Published } from './fill-people.ts';
import type { ConsolePage } from './pages.ts';

/** The ways to an app, who has to do with it, and how it is shown to more people. */
export function peoplePages(
  t: string,
  { lunch, travel, openReview, approvedReview, rejectedReview }: Published,
): ConsolePage[] {
  const owners = (name: string, path: string): ConsolePage => ({ name, path: `${t}/${path}`, as: 'owner' });
  const admins = (name: string, path: string): ConsolePage => ({ name, path: `${t}/${path}`, as: 'admin' });
  const members = (name: string, path: string): ConsolePage => ({ name, path: `${t}/${path}`, as: 'member' });
  return [
    owners('catalogue-narrowed', 'catalogue?q=lunch&category=workplace&sort=name'),
    owners('catalogue-nothing-fits', 'catalogue?q=submarine'),
    owners('new-app-template', 'apps/new?way=template'),
    owners('new-app-empty', 'apps/new?way=empty'),
    owners('new-app-fork', `apps/new?way=fork&source=${lunch}`),
    owners('publication-open', `apps/${travel}/overview`),
    owners('publication-form', 'apps/handbook/overview?publish=yes'),
    owners('people-of-travel', `apps/${travel}/people`),
    owners('settings-of-lunch', `apps/${lunch}/settings`),
    admins('settings-seen-by-an-admin', `apps/${lunch}/settings`),
    members('people-seen-by-a-member', `apps/${lunch}/people`),
    members('settings-seen-by-a-member', `apps/${lunch}/settings`),
    admins('reviews-settled', 'reviews?status=settled'),
    admins('review-open', `reviews/${openReview}`),
    admins('review-approved', `reviews/${approvedReview}`),
    owners('review-seen-by-who-asked', `reviews/${openReview}`),
    owners('review-rejected', `reviews/${rejectedReview}`),
    members('reviews-seen-by-a-member', 'reviews'),
    admins('notifications-of-an-admin', 'notifications'),
    owners('notifications-unread', 'notifications?show=unread'),
  ];
}
