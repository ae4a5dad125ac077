import {
  checkAvailability,
  createdWithinDaysMax,
  discoverApps,
  listApps,
  listMyApps,
  listOwnedApps,
  listReceivedApps,
  listWorkspace,
  searchApps,
  searchSorts,
} from '@svc/contract/app-lists.ts';
import { deploymentStatuses, getApp, operatingStatuses, visibilities } from '@svc/contract/apps.ts';
import { defineCommand } from '../../command.ts';
import { sanitize } from '../../framework/text.ts';
import { anyOfSummary, flagFields, pageFlags, pageFlagsWithLimit } from '../../inputs/common.ts';
import { appView, oneAppView, ownAppView } from '../../views/apps.ts';

export const appsList = defineCommand({
  words: 'apps list',
  summary: 'List the apps that you can see',
  kind: 'read',
  flags: {
    q: {
      type: 'string',
      placeholder: 'words',
      summary: 'Only apps that match these words; tolerates typing errors',
    },
    'category-id': { type: 'string', placeholder: 'category', summary: 'Category id or slug' },
    status: { type: 'enum', values: deploymentStatuses, summary: 'Deployment status' },
    'operating-status': { type: 'enum', values: operatingStatuses, summary: 'Operating status' },
    'operating-status-in': {
      type: 'list',
      values: operatingStatuses,
      summary: anyOfSummary('operating statuses', 'operating-status'),
    },
    'review-status': {
      type: 'string',
      placeholder: 'status',
      summary: 'Status of the latest request to publish',
    },
    'review-status-in': {
      type: 'list',
      placeholder: 'status',
      summary: anyOfSummary('review statuses', 'review-status'),
    },
    visibility: { type: 'enum', values: visibilities, summary: 'Visibility' },
    deleted: { type: 'boolean', summary: 'List deleted apps that you can restore or purge' },
    sort: {
      type: 'enum',
      values: searchSorts,
      summary: 'Sort order; a leading dash reverses it (relevance with --q, otherwise slug)',
    },
    cursor: {
      type: 'string',
      placeholder: 'cursor',
      excludes: ['page', 'all'],
      summary: 'Continue after next_cursor, which stays valid when apps are added or removed',
    },
    ...pageFlags,
  },
  endpoint: listApps,
  input: ({ flags }) => ({
    query: {
      cursor: flags.cursor,
      q: flags.q,
      category_id: flags['category-id'],
      status: flags.status,
      operating_status: flags['operating-status'],
      operating_status_in: flags['operating-status-in']?.join(','),
      review_status: flags['review-status'],
      review_status_in: flags['review-status-in']?.join(','),
      visibility: flags.visibility,
      ...(flags.deleted && { deleted: 'true' as const }),
      sort: flags.sort,
    },
  }),
  view: appView,
  examples: {
    '--all': 'List every app that you can see',
    '--operating-status-in live,dev --sort -updated_at': 'List apps in use, most recently updated first',
  },
});

export const appsGet = defineCommand({
  words: 'apps get',
  summary: 'Show one app',
  kind: 'read',
  positionals: [{ name: 'app', summary: 'App id or slug' }],
  endpoint: getApp,
  view: oneAppView,
  examples: { 'pet-shop': 'By its slug' },
});

export const appsMine = defineCommand({
  words: 'apps mine',
  summary: 'List the apps that you own or co-own',
  kind: 'read',
  flags: pageFlags,
  endpoint: listMyApps,
  view: ownAppView,
  examples: { '': 'Include your relation to each app' },
});

export const appsOwned = defineCommand({
  words: 'apps owned',
  summary: 'List the apps of which you are the representative owner',
  kind: 'read',
  pages: 'all',
  endpoint: listOwnedApps,
  view: ownAppView,
  examples: { '': 'Include your relation to each app' },
});

export const appsReceived = defineCommand({
  words: 'apps received',
  summary: 'List the apps that others share with you',
  kind: 'read',
  pages: 'all',
  endpoint: listReceivedApps,
  view: ownAppView,
  examples: { '': 'Include your relation to each app' },
});

export const appsWorkspace = defineCommand({
  words: 'apps workspace',
  summary: 'List the apps that you own, co-own or are invited to',
  kind: 'read',
  pages: 'all',
  endpoint: listWorkspace,
  view: ownAppView,
  examples: { '': 'Include your relation to each app' },
});

export const appsDiscover = defineCommand({
  words: 'apps discover',
  summary: 'Browse the apps that are open to you',
  description: 'The catalogue of the tenant: active apps that more people than their owners can see.',
  kind: 'read',
  flags: {
    q: {
      type: 'string',
      placeholder: 'words',
      summary: 'Only apps that match these words; tolerates typing errors',
    },
    category: { type: 'string', placeholder: 'category', summary: 'Category slug or id' },
    'created-within-days': {
      type: 'integer',
      placeholder: 'days',
      min: 1,
      max: createdWithinDaysMax,
      summary: 'Only apps created within this many days',
    },
    sort: {
      type: 'enum',
      values: searchSorts,
      summary: 'Sort order (relevance with --q, otherwise -created_at)',
    },
    ...pageFlagsWithLimit,
  },
  endpoint: discoverApps,
  input: ({ flags }) => ({
    query: flagFields(flags, 'limit', 'q', 'category', 'created-within-days', 'sort'),
  }),
  view: appView,
  examples: {
    '--category tools --created-within-days 30': 'New tools',
    "--q 'expense report'": 'Search by words',
  },
});

export const appsSearch = defineCommand({
  words: 'apps search',
  summary: 'Search the apps that you can see; tolerates typing errors',
  kind: 'read',
  positionals: [{ name: 'query', summary: 'Words of its name, slug, summary or description' }],
  flags: {
    category: { type: 'string', placeholder: 'category', summary: 'Category slug or id' },
    status: { type: 'enum', values: deploymentStatuses, summary: 'Deployment status' },
    'status-in': {
      type: 'list',
      values: deploymentStatuses,
      summary: anyOfSummary('deployment statuses', 'status'),
    },
    visibility: { type: 'enum', values: visibilities, summary: 'Visibility' },
    sort: { type: 'enum', values: searchSorts, summary: 'Sort order (relevance)' },
    cursor: {
      type: 'string',
      placeholder: 'cursor',
      excludes: ['page', 'all'],
      summary: 'Continue after next_cursor of the previous page',
    },
    ...pageFlagsWithLimit,
  },
  endpoint: searchApps,
  input: ({ positionals, flags }) => ({
    query: {
      q: positionals.query,
      limit: flags.limit,
      cursor: flags.cursor,
      category: flags.category,
      status: flags.status,
      status_in: flags['status-in']?.join(','),
      visibility: flags.visibility,
      sort: flags.sort,
    },
  }),
  view: appView,
  examples: {
    "'pet shp'": 'Also finds Pet Shop',
    'invoices --status deployed --limit 5': 'The five best matches that are deployed',
  },
});

export const appsCheckAvailability = defineCommand({
  words: 'apps check-availability',
  summary: 'Check whether a slug or subdomain is available, and suggest alternatives',
  kind: 'read',
  flags: {
    slug: { type: 'string', placeholder: 'slug', summary: 'Short name within the tenant' },
    subdomain: { type: 'string', placeholder: 'name', summary: 'Host below the apps domain' },
  },
  oneRequired: [['slug', 'subdomain']],
  endpoint: checkAvailability,
  input: ({ flags }) => ({ query: { slug: flags.slug, subdomain: flags.subdomain } }),
  text: ({ slug, subdomain }) =>
    [slug && { what: 'slug', ...slug }, subdomain && { what: 'subdomain', ...subdomain }]
      .filter((name) => name !== null)
      .map(({ what, name, available, reason, suggestions }) => {
        const free = suggestions.length === 0 ? '' : `; available: ${suggestions.join(', ')}`;
        return `${what} ${sanitize(name)} is ${available ? 'available' : `${reason}${free}`}\n`;
      })
      .join(''),
  examples: { '--slug pet-shop --subdomain pets': 'Check both at once' },
});
