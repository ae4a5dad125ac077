/** A page as a test sees it. */
export interface Visit {
  status: number;
  url: string;
  headers: Headers;
  html: string;
  /** Where it redirects to, when redirects are not followed. */
  location: string | null;
}

interface Cookie {
  host: string;
  name: string;
  value: string;
  path: string;
  attributes: string;
}

/** Follows redirects, keeps cookies by path and sends forms, as a browser without scripts does. */
export class TestBrowser {
  readonly #baseUrl: string;
  readonly #headers: Record<string, string>;
  readonly #servedAt: string;
  cookies: Cookie[] = [];

  /** `servedAt` is where the server of `baseUrl` is reached, when a proxy would stand before it. */
  constructor(baseUrl: string, headers: Record<string, string>, servedAt = baseUrl) {
    this.#baseUrl = baseUrl;
    this.#headers = headers;
    this.#servedAt = servedAt;
  }

  /** Follows redirects as long as `until` does not hold for where they lead. */
  async open(address: string, until: (url: URL) => boolean = () => false): Promise<Visit> {
    return this.#send(new URL(address, this.#baseUrl), { method: 'GET' }, until);
  }

  /** Sends the form of the page whose action ends in `action`, with what is typed into it. */
  async submit(
    page: Visit,
    action: string,
    typed: Record<string, string> = {},
    until: (url: URL) => boolean = () => false,
  ): Promise<Visit> {
    const forms = [...page.html.matchAll(/<form method="post" action="([^"]*)">([\s\S]*?)<\/form>/g)];
    const choices = forms.filter(([, target]) => target?.endsWith(action));
    const form = choices.find(([, , inner]) =>
      Object.keys(typed).every((name) => inner?.includes(`name="${name}"`)),
    );
    if (!form)
      throw new Error(`No form for ${action} on ${page.url} (${page.status}): ${page.html.slice(0, 2000)}`);
    const fields = new URLSearchParams();
    for (const [input] of form[2]?.matchAll(/<input [^>]*>/g) ?? []) {
      fields.set(attribute(input, 'name'), attribute(input, 'value'));
    }
    for (const [name, value] of Object.entries(typed)) fields.set(name, value);
    return this.#send(new URL(form[1] ?? '', page.url), { method: 'POST', body: fields }, until);
  }

  cookie(name: string): string | undefined {
    return this.cookies.find((cookie) => cookie.name === name)?.value;
  }

  async #send(
    url: URL,
    init: { method: string; body?: URLSearchParams },
    until: (url: URL) => boolean,
  ): Promise<Visit> {
    for (let hops = 0; hops < 15; hops++) {
      const cookies = this.cookies.filter(
        ({ host, path }) => host === url.hostname && matches(url.pathname, path),
      );
      const cookie = cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
      const answer = await fetch(url.href.replace(this.#baseUrl, this.#servedAt), {
        ...init,
        redirect: 'manual',
        headers: { ...this.#headers, accept: 'text/html', ...(cookie ? { cookie } : {}) },
      });
      for (const line of answer.headers.getSetCookie()) this.#keep(url.hostname, line);
      const location = answer.headers.get('location');
      const html = await answer.text();
      const visit = { status: answer.status, url: url.href, headers: answer.headers, html, location };
      if (location === null) return visit;
      const next = new URL(location, url);
      if (until(next)) return visit;
      url = next;
      if (answer.status !== 307) init = { method: 'GET' };
    }
    throw new Error(`Too many redirects, the last to ${url}`);
  }

  #keep(host: string, line: string): void {
    const [pair = '', ...rest] = line.split(/;\s*/);
    const [name = '', value = ''] = pair.split(/=(.*)/s);
    const path = rest.find((part) => /^path=/i.test(part))?.slice(5) ?? '/';
    const isGone = value === '' || rest.some((part) => /^expires=Thu, 01 Jan 1970|^max-age=0/i.test(part));
    const isSafe = path === '/' && /secure/i.test(line) && !/domain=/i.test(line);
    if (name.startsWith('__Host-') && !isSafe) return;
    this.cookies = this.cookies.filter(
      (cookie) => cookie.host !== host || cookie.name !== name || cookie.path !== path,
    );
    if (!isGone) this.cookies.push({ host, name, value, path, attributes: rest.join('; ') });
  }
}

function matches(pathname: string, path: string): boolean {
  return pathname === path || pathname.startsWith(path.endsWith('/') ? path : `${path}/`);
}

function attribute(tag: string, name: string): string {
  return new RegExp(` ${name}="([^"]*)"`).exec(tag)?.[1] ?? '';
}
