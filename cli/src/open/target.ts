import { type AdminTab, type AppTab, consolePaths } from '@svc/contract/console-paths.ts';
import { slugPattern, uuidPattern } from '@svc/contract/limits.ts';
import { suggest } from '@svc/contract/suggest.ts';
import { type CliError, usageError } from '../framework/errors.ts';

export type Target =
  | { kind: 'console' }
  | { kind: 'tenant_page'; page: Page & { of: 'tenant' }; id: string | undefined }
  | { kind: 'app_page'; page: Page & { of: 'app' }; id: string | undefined; app: string | undefined }
  | { kind: 'app' | 'git' | 'staging'; app: string | undefined };

export interface OpenLine {
  what: readonly string[];
  app: string | undefined;
  page: 'logs' | 'metrics' | undefined;
}

/** An app with such a slug is named by `app <slug>` or `--app`. */
const otherWords: readonly string[] = ['app', 'console', 'git', 'staging'];

export function parseTarget(line: OpenLine): Target {
  const [first, second, extra] = line.what;
  if (first === undefined) return appTarget(line, line.app);
  if (first === 'app') return withApp(line, second, line.what.slice(2));
  const known = findPage(first);
  if (known === undefined && !otherWords.includes(first)) {
    if (!isAppRef(first)) throw unknownWordError(first);
    // A word similar to a page is more likely a typing error than an app.
    if (second !== undefined && !isAppWord(second))
      throw unknownWordError(didYouMean(first) ? first : second);
    return withApp(line, first, line.what.slice(1));
  }
  if (extra !== undefined) throw extraArgumentError(extra);
  if (line.page !== undefined) throw usageError(`--${line.page} and ${first} both name a page.`);
  if (second !== undefined && known?.one === undefined) throw extraArgumentError(second);
  // Browsers resolve these as relative paths.
  if (second === '.' || second === '..') throw usageError(`${JSON.stringify(second)} is not a valid name.`);
  if (first === 'git' || first === 'staging') return { kind: first, app: line.app };
  if (known?.of === 'app') return { kind: 'app_page', page: known, id: second, app: line.app };
  if (line.app !== undefined)
    throw usageError(`--app cannot be combined with ${first}, which is not a page of an app.`);
  return known === undefined ? { kind: 'console' } : { kind: 'tenant_page', page: known, id: second };
}

function withApp(line: OpenLine, word: string | undefined, rest: readonly string[]): Target {
  const app = onlyOne(word, line.app);
  const [page] = rest;
  if (page === undefined) return appTarget(line, app);
  if (isAppWord(page)) return parseTarget({ ...line, what: rest, app });
  throw findPage(page) ? usageError(`${page} is not a page of an app.`) : unknownWordError(page);
}

function findPage(word: string): Page | undefined {
  return Object.hasOwn(pages, word) ? pages[word] : undefined;
}

function isAppWord(word: string): boolean {
  return word === 'git' || word === 'staging' || findPage(word)?.of === 'app';
}

export function didYouMean(word: string): string | undefined {
  const near = suggest(word, [...Object.keys(pages), ...otherWords]);
  return near === null ? undefined : `Did you mean svc open ${near}?`;
}

function appTarget({ page }: OpenLine, app: string | undefined): Target {
  const known = page === undefined ? undefined : pages[page];
  return known?.of === 'app' ? { kind: 'app_page', page: known, id: undefined, app } : { kind: 'app', app };
}

function onlyOne(word: string | undefined, flag: string | undefined): string | undefined {
  if (word !== undefined && flag !== undefined)
    throw usageError(`The app is given twice: as ${word} and as --app.`);
  return word ?? flag;
}

function isAppRef(word: string): boolean {
  return slugPattern.test(word) || uuidPattern.test(word);
}

function extraArgumentError(word: string): CliError {
  return usageError(`${JSON.stringify(word)} is one argument too many.`, 'See svc open --help.');
}

function unknownWordError(word: string): CliError {
  return usageError(
    `${JSON.stringify(word)} is neither an app nor a page.`,
    didYouMean(word) ?? 'See svc open --help.',
  );
}

export type Page =
  | { of: 'tenant'; path: (tenant: string) => string; one?: (tenant: string, id: string) => string }
  | {
      of: 'app';
      path: (tenant: string, app: string) => string;
      one?: (tenant: string, app: string, id: string) => string;
    };

const tab = (name: AppTab) =>
  ({ of: 'app', path: (tenant: string, app: string) => consolePaths.app(tenant, app, name) }) as const;
const admin = (name: AdminTab) =>
  ({ of: 'tenant', path: (tenant: string) => consolePaths.admin(tenant, name) }) as const;

const deployments: Page = { ...tab('deployments'), one: consolePaths.deployment };
const runs: Page = { ...tab('runs'), one: consolePaths.run };
const tables: Page = { ...tab('tables'), one: consolePaths.table };
const releases: Page = { ...tab('releases'), one: consolePaths.release };
const reviews: Page = { of: 'tenant', path: consolePaths.reviews, one: consolePaths.review };

export const pages: Readonly<Record<string, Page>> = {
  overview: tab('overview'),
  deployments,
  deployment: deployments,
  runs,
  run: runs,
  logs: tab('logs'),
  metrics: tab('metrics'),
  tables,
  table: tables,
  releases,
  release: releases,
  domains: tab('domains'),
  storage: tab('storage'),
  people: tab('people'),
  environment: tab('environment'),
  settings: tab('settings'),
  apps: { of: 'tenant', path: consolePaths.apps },
  catalogue: { of: 'tenant', path: consolePaths.catalogue },
  reviews,
  review: reviews,
  notifications: { of: 'tenant', path: consolePaths.notifications },
  grants: { of: 'tenant', path: consolePaths.grants },
  tokens: { of: 'tenant', path: consolePaths.tokens },
  sessions: { of: 'tenant', path: consolePaths.sessions },
  members: admin('members'),
  categories: admin('categories'),
  connectors: admin('connectors'),
  presets: admin('presets'),
  policies: admin('policies'),
  audit: admin('audit'),
  tenant: admin('settings'),
};
