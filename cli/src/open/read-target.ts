import { slugPattern, uuidPattern } from '@svc/contract/limits.ts';
import { suggest } from '@svc/contract/suggest.ts';
import { type CliError, usage } from '../errors.ts';
import { type Page, pages } from './pages.ts';

/** What is to be opened. An app that is not named is the one of `svc.yaml`. */
export type Target =
  | { kind: 'console' }
  | { kind: 'tenant_page'; page: Page & { of: 'tenant' }; id: string | undefined }
  | { kind: 'app_page'; page: Page & { of: 'app' }; id: string | undefined; app: string | undefined }
  | { kind: 'app' | 'git' | 'staging'; app: string | undefined };

export interface OpenLine {
  what: readonly string[];
  app: string | undefined;
  /** By `--logs` and `--metrics`. */
  page: 'logs' | 'metrics' | undefined;
}

/** Words of their own are no apps: one that bears such a word as its slug is named by `app <slug>` or `--app`. */
const otherWords: readonly string[] = ['app', 'console', 'git', 'staging'];

export function readTarget(line: OpenLine): Target {
  const [first, second, extra] = line.what;
  if (first === undefined) return ofApp(line, line.app);
  if (first === 'app') return withApp(line, second, line.what.slice(2));
  const known = pageOf(first);
  if (known === undefined && !otherWords.includes(first)) {
    if (!isAppRef(first)) throw unknownWord(first);
    // What is nearly a page was hardly meant as an app that another page stands behind.
    if (second !== undefined && !isOfApp(second)) throw unknownWord(didYouMean(first) ? first : second);
    return withApp(line, first, line.what.slice(1));
  }
  if (extra !== undefined) throw tooMany(extra);
  if (line.page !== undefined) throw usage(`--${line.page} is a page of an app, and so is ${first}.`);
  if (second !== undefined && known?.one === undefined) throw tooMany(second);
  // No form of these is a part of a path: every browser takes them for the way up.
  if (second === '.' || second === '..') throw usage(`${JSON.stringify(second)} names nothing.`);
  if (first === 'git' || first === 'staging') return { kind: first, app: line.app };
  if (known?.of === 'app') return { kind: 'app_page', page: known, id: second, app: line.app };
  if (line.app !== undefined) throw usage(`--app says nothing here: ${first} is not about one app.`);
  return known === undefined ? { kind: 'console' } : { kind: 'tenant_page', page: known, id: second };
}

/** An app, and the words of its page behind it. */
function withApp(line: OpenLine, word: string | undefined, rest: readonly string[]): Target {
  const app = theOne(word, line.app);
  const [page] = rest;
  if (page === undefined) return ofApp(line, app);
  if (isOfApp(page)) return readTarget({ ...line, what: rest, app });
  throw pageOf(page) ? usage(`${page} is not about one app.`) : unknownWord(page);
}

function pageOf(word: string): Page | undefined {
  return Object.hasOwn(pages, word) ? pages[word] : undefined;
}

function isOfApp(word: string): boolean {
  return word === 'git' || word === 'staging' || pageOf(word)?.of === 'app';
}

/** What a word that is none was probably meant to be. */
export function didYouMean(word: string): string | undefined {
  const near = suggest(word, [...Object.keys(pages), ...otherWords]);
  return near === null ? undefined : `Did you mean svc open ${near}?`;
}

function ofApp({ page }: OpenLine, app: string | undefined): Target {
  const known = page === undefined ? undefined : pages[page];
  return known?.of === 'app' ? { kind: 'app_page', page: known, id: undefined, app } : { kind: 'app', app };
}

function theOne(word: string | undefined, flag: string | undefined): string | undefined {
  if (word !== undefined && flag !== undefined)
    throw usage(`The app is given twice: as ${word} and as --app.`);
  return word ?? flag;
}

function isAppRef(word: string): boolean {
  return slugPattern.test(word) || uuidPattern.test(word);
}

function tooMany(word: string): CliError {
  return usage(`${JSON.stringify(word)} is one argument too many.`, 'See svc open --help.');
}

function unknownWord(word: string): CliError {
  return usage(
    `${JSON.stringify(word)} is neither an app nor a page.`,
    didYouMean(word) ?? 'See svc open --help.',
  );
}
