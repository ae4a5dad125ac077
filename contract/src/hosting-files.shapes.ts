import { isObject } from './json.ts';
import { headerRule, redirectRule } from './site-config.shapes.ts';
import { redirectStatuses, type SiteConfig } from './site-config.ts';

/** In the published folder; they are not served. */
export const publishedHostingFiles = ['_redirects', '_headers'] as const;
/** In the folder of the project. */
export const projectHostingFiles = ['netlify.toml', 'vercel.json'] as const;
export const hostingFileBytesMax = 256 * 1024;

/** The text of the files for static hosts that a project has. */
export type HostingFiles = Partial<
  Record<(typeof publishedHostingFiles | typeof projectHostingFiles)[number], string | null>
>;

export interface HostingRules {
  config: SiteConfig;
  /** What the configuration contains: `line 3 of _redirects`. */
  applied: string[];
  /** Lines that are not applied, with the reason: `line 3 of _redirects: …`. */
  unsupported: string[];
}

interface RedirectLike {
  at: string;
  from: string;
  to: string;
  status: number;
  force: boolean;
  /** Settings for which there is no equivalent. */
  conditions: readonly string[];
}

export function readHostingFiles(files: HostingFiles, parseToml: (text: string) => unknown): HostingRules {
  const rules = createRules();
  for (const rule of redirectLines(files._redirects ?? '', rules)) rules.redirect(rule);
  for (const { at, path, name, value } of headerLines(files._headers ?? '', rules))
    rules.header(at, path, { [name]: value });
  const parse = (name: (typeof projectHostingFiles)[number], read: (text: string) => unknown) => {
    try {
      return record(read(files[name] || '{}'));
    } catch {
      rules.refuse(name, 'is not valid');
      return {};
    }
  };
  readNetlify(files['netlify.toml'] ? parse('netlify.toml', parseToml) : {}, rules);
  readVercel(parse('vercel.json', JSON.parse), rules);
  return rules.result();
}

/** Rules of the project come first, so that they win. */
export function withHostingRules(own: SiteConfig, { config }: HostingRules): SiteConfig {
  const redirects = [...(own.redirects ?? []), ...(config.redirects ?? [])];
  const headers = [...(config.headers ?? []), ...(own.headers ?? [])];
  return {
    ...config,
    ...own,
    ...(redirects.length > 0 && { redirects }),
    ...(headers.length > 0 && { headers }),
  };
}

type Rules = ReturnType<typeof createRules>;

function createRules() {
  const config: SiteConfig = {};
  const redirects: NonNullable<SiteConfig['redirects']> = [];
  const headers: NonNullable<SiteConfig['headers']> = [];
  const applied = new Set<string>();
  const unsupported: string[] = [];
  const refuse = (at: string, reason: string) => unsupported.push(`${at}: ${reason}`);

  function addRedirect(at: string, rule: (typeof redirects)[number]): void {
    const { success, data, error } = redirectRule.safeParse(rule);
    if (success) {
      redirects.push(data);
      applied.add(at);
    } else refuse(at, error.issues.map(({ path, message }) => `${path.join('.')} ${message}`).join('; '));
  }

  function configure(at: string, more: SiteConfig): void {
    Object.assign(config, more);
    applied.add(at);
  }

  return {
    configure,
    refuse,
    redirect({ at, from, to, status, force, conditions }: RedirectLike): void {
      if (conditions.length > 0) return void refuse(at, `${conditions.join(', ')} is not supported`);
      if (status === 200 && from === '/*' && to === '/index.html' && !force) {
        configure(at, { spa: true });
      } else if (status === 404 && from === '/*' && to.startsWith('/')) {
        configure(at, { not_found: to.slice(1) });
      } else if (status === 200 && !to.startsWith('/')) {
        refuse(at, 'requests are not passed on to other hosts');
      } else if (status !== 200 && !redirectStatuses.some((known) => known === status)) {
        refuse(at, `the status ${status} is not supported`);
      } else {
        const rest = { status: status as (typeof redirectStatuses)[number], force };
        addRedirect(at, { from, to, ...rest });
        // In a _redirects file /blog/* matches /blog as well.
        const folder = /^(\/.+)\/\*$/.exec(from)?.[1];
        if (folder !== undefined)
          addRedirect(at, { from: folder, to: to.replace(/\/?:splat/, '') || '/', ...rest });
      }
    },
    header(at: string, path: string, values: Readonly<Record<string, string>>): void {
      // In other hosts' files Basic-Auth is a password for visitors.
      if (Object.keys(values).some((name) => name.toLowerCase() === 'basic-auth'))
        return void refuse(at, 'Basic-Auth is not supported');
      const { success, data, error } = headerRule.safeParse({ path, headers: values });
      if (!success) return void refuse(at, error.issues.map(issueMessage).join('; '));
      applied.add(at);
      const last = headers.at(-1);
      if (last?.path === data.path) last.headers = joinHeaders(last.headers, data.headers);
      else headers.push(data);
    },
    result: (): HostingRules => ({
      config: {
        ...config,
        ...(redirects.length > 0 && { redirects }),
        ...(headers.length > 0 && { headers }),
      },
      applied: [...applied],
      unsupported,
    }),
  };
}

function issueMessage(issue: {
  code?: string;
  message: string;
  path: PropertyKey[];
  issues?: unknown;
}): string {
  if (issue.path[0] === 'path') return `the path ${issue.message}`;
  return `${String(issue.path[1] ?? 'the header')} cannot be set`;
}

/** A header that is named twice has both values. */
function joinHeaders(one: Record<string, string>, more: Record<string, string>): Record<string, string> {
  const all = { ...one };
  for (const [name, value] of Object.entries(more)) {
    const known = Object.keys(all).find((each) => each.toLowerCase() === name.toLowerCase());
    if (known === undefined) all[name] = value;
    else all[known] = `${all[known]}, ${value}`;
  }
  return all;
}

function* redirectLines(text: string, rules: Rules): Generator<RedirectLike> {
  for (const { at, line } of numberedLines(text, '_redirects')) {
    const [from = '', ...rest] = line.trim().split(/\s+/);
    const target = rest.findIndex((word) => /^(?:\/|https?:\/\/)/.test(word));
    if (target < 0) {
      rules.refuse(at, 'has no target');
      continue;
    }
    const [to = '', status = '301', ...conditions] = rest.slice(target);
    yield {
      at,
      from,
      to,
      status: Number.parseInt(status, 10),
      force: status.endsWith('!'),
      conditions: [...rest.slice(0, target), ...conditions],
    };
  }
}

function* headerLines(text: string, rules: Rules) {
  let path: string | null = null;
  for (const { at, line } of numberedLines(text, '_headers')) {
    if (!/^\s/.test(line)) {
      path = line.trim();
      continue;
    }
    const [, name, value] = /^\s*([^:\s]+)\s*:\s*(.*?)\s*$/.exec(line) ?? [];
    if (path === null || name === undefined || value === undefined) rules.refuse(at, 'is not a header');
    else yield { at, path, name, value };
  }
}

function* numberedLines(text: string, file: string) {
  for (const [index, whole] of text.split(/\r?\n/).entries()) {
    const line = whole.replace(/(?:^|\s)#.*$/, '');
    if (line.trim() !== '') yield { at: `line ${index + 1} of ${file}`, line };
  }
}

function readNetlify(data: Readonly<Record<string, unknown>>, rules: Rules): void {
  for (const [index, rule] of list(data.redirects).entries()) {
    const { from, to, status, force, ...others } = rule;
    rules.redirect({
      at: `redirects[${index}] of netlify.toml`,
      from: String(from ?? ''),
      to: String(to ?? ''),
      status: Number(status ?? 301),
      force: force === true,
      conditions: Object.keys(others),
    });
  }
  for (const [index, { for: path, values, ...others }] of list(data.headers).entries()) {
    const at = `headers[${index}] of netlify.toml`;
    for (const [name, value] of Object.entries(record(values))) {
      const text = Array.isArray(value) ? value.join(', ') : String(value);
      rules.header(at, String(path ?? ''), { [name]: text });
    }
    for (const key of Object.keys(others)) rules.refuse(at, `${key} is not supported`);
  }
  refuseOthers('netlify.toml', data, rules);
}

interface KnownKeys {
  /** Applied here or by the detection of build settings, or without an effect on what is deployed. */
  known: readonly string[];
  /** Their keys are named one by one. */
  tables: readonly string[];
}

const knownKeys: Readonly<Record<(typeof projectHostingFiles)[number], KnownKeys>> = {
  'netlify.toml': {
    known: ['redirects', 'headers', 'build.command', 'build.publish', 'build.base', 'dev', 'template'],
    tables: ['build', 'context'],
  },
  'vercel.json': {
    known: [
      'redirects rewrites headers cleanUrls trailingSlash installCommand buildCommand outputDirectory',
      '$schema version name public framework devCommand',
    ].flatMap((names) => names.split(' ')),
    tables: ['build'],
  },
};

function refuseOthers(
  file: (typeof projectHostingFiles)[number],
  data: Readonly<Record<string, unknown>>,
  rules: Rules,
): void {
  const { known, tables } = knownKeys[file];
  const keys = Object.entries(data).flatMap(([key, value]) =>
    tables.includes(key) ? Object.keys(record(value)).map((name) => `${key}.${name}`) : [key],
  );
  for (const key of keys) if (!known.includes(key)) rules.refuse(`${key} of ${file}`, 'is not supported');
}

function readVercel(data: Readonly<Record<string, unknown>>, rules: Rules): void {
  const convert = (rule: Record<string, unknown>, at: string): RedirectLike | null => {
    const { source, destination, permanent, statusCode, ...others } = rule;
    const path = vercelPath(String(source ?? ''));
    if (path === null) {
      rules.refuse(at, `the path ${String(source)} is not supported`);
      return null;
    }
    return {
      at,
      from: path.from,
      to: String(destination ?? '').replaceAll(path.rest ?? ':splat', ':splat'),
      status: Number(statusCode ?? (permanent === true ? 308 : 307)),
      force: true,
      conditions: Object.keys(others),
    };
  };
  for (const [index, rule] of list(data.redirects).entries()) {
    const found = convert(rule, `redirects[${index}] of vercel.json`);
    if (found) rules.redirect(found);
  }
  for (const [index, rule] of list(data.rewrites).entries()) {
    const found = convert(rule, `rewrites[${index}] of vercel.json`);
    if (found) rules.redirect({ ...found, status: 200, force: false });
  }
  for (const [index, { source, headers, ...others }] of list(data.headers).entries()) {
    const at = `headers[${index}] of vercel.json`;
    const path = vercelPath(String(source ?? ''));
    if (path === null) rules.refuse(at, `the path ${String(source)} is not supported`);
    else if (Object.keys(others).length > 0)
      rules.refuse(at, `${Object.keys(others).join(', ')} is not supported`);
    else
      for (const { key, value } of list(headers))
        rules.header(at, path.from, { [String(key)]: String(value) });
  }
  const { cleanUrls, trailingSlash } = data;
  if (typeof cleanUrls === 'boolean') rules.configure('cleanUrls of vercel.json', { clean_urls: cleanUrls });
  if (typeof trailingSlash === 'boolean')
    rules.configure('trailingSlash of vercel.json', { trailing_slash: trailingSlash });
  refuseOthers('vercel.json', data, rules);
}

/** Supports only patterns that match everything below a path; null for other patterns. */
function vercelPath(source: string): { from: string; rest: string | null } | null {
  const [, before, rest] = /^(.*\/)(?:\(\.\*\)|:(\w+)(?:\*|\(\.\*\)))$/.exec(source) ?? [];
  const from = before === undefined ? source : `${before}*`;
  if (/[()+?{}\\]|\*./.test(from)) return null;
  return { from, rest: before === undefined ? null : rest === undefined ? '$1' : `:${rest}*` };
}

function record(value: unknown): Record<string, unknown> {
  return isObject(value) ? value : {};
}

function list(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.map(record) : [];
}
