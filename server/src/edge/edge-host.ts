import { stagingSuffix } from '@svc/contract/static-sites.ts';

/** What a name in a Host header stands for. */
export type EdgeHost =
  | { kind: 'platform' }
  | { kind: 'app'; subdomain: string }
  | { kind: 'staging'; subdomain: string }
  | { kind: 'domain'; host: string };

/** A host that a site may be behind. */
export type SiteHost = Exclude<EdgeHost, { kind: 'platform' }>;

const platform: EdgeHost = { kind: 'platform' };

/**
 * All below the apps domain are sites' hosts, also those that nobody has: content of users and the platform's own pages
 * never share one. Other names are the platform's unless an app has them as its domain; whether it answers there is for
 * `createPlatformNames` to say.
 */
export function createHostReader(options: {
  baseUrl: string;
  extraHosts?: readonly string[];
  appsDomain: string;
  isDomain: (host: string) => boolean;
}): (host: string) => EdgeHost {
  const own = new URL(options.baseUrl).hostname;
  const extra: ReadonlySet<string> = new Set(options.extraHosts);
  const below = `.${options.appsDomain}`;
  return (host) => {
    if (host === own || extra.has(host)) return platform;
    if (host.endsWith(below)) {
      const label = host.slice(0, -below.length);
      return label.endsWith(stagingSuffix)
        ? { kind: 'staging', subdomain: label.slice(0, -stagingSuffix.length) }
        : { kind: 'app', subdomain: label };
    }
    return options.isDomain(host) ? { kind: 'domain', host } : platform;
  };
}
