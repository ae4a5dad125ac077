export interface Visit {
  status: number;
  url: string;
  headers: Headers;
  html: string;
  location: string | null;
}

interface Cookie {
  host: string;
  name: string;
  value: string;
  path: string;
  attributes: string;
}

const never = (_url: URL) => false;

/** Follows redirects, stores cookies by path and submits forms, like a browser without scripts. */
export class TestBrowser {
  cookies: Cookie[] = [];
  /** The `Set-Cookie` lines of all answers. */
  readonly setCookies: string[] = [];

  /** `servedAt`: the actual address of `baseUrl`, as behind a proxy. `ca`: the certificate of the authority to trust. */
  constructor(
    readonly baseUrl: string,
    readonly headers: Record<string, string> = {},
    readonly servedAt = baseUrl,
    readonly ca?: string,
  ) {}

  open(address: string, until = never): Promise<Visit> {
    return this.#send(new URL(address, this.baseUrl), { method: 'GET' }, until);
  }

  submit(page: Visit, action: string, typed: Record<string, string> = {}, until = never) {
    return this.#fill(page, ([, target]) => target?.endsWith(action), typed, until);
  }

  /** Fills in and submits the form of the button with this text. */
  press(page: Visit, button: string, typed: Record<string, string> = {}) {
    const shown = new RegExp(`<button[^>]*>\\s*${button}\\s*<`);
    return this.#fill(page, ([, , inner = '']) => shown.test(inner), typed, never);
  }

  async #fill(
    page: Visit,
    fits: (form: RegExpMatchArray) => boolean | undefined,
    typed: Record<string, string>,
    until: (url: URL) => boolean,
  ) {
    const forms = page.html.matchAll(/<form method="post" action="([^"]*)"[^>]*>([\s\S]*?)<\/form>/g);
    const hasFields = (inner = '') => Object.keys(typed).every((name) => inner.includes(`name="${name}"`));
    const form = [...forms].find((found) => fits(found) && hasFields(found[2]));
    if (!form) throw new Error(`No such form on ${page.url} (${page.status}): ${page.html.slice(0, 2000)}`);
    const attribute = (tag: string, name: string) => new RegExp(` ${name}="([^"]*)"`).exec(tag)?.[1] ?? '';
    const inputs = [...(form[2]?.matchAll(/<input [^>]*>/g) ?? [])].map(([tag]) => tag);
    const filled = inputs.map((tag) => [attribute(tag, 'name'), attribute(tag, 'value')]);
    const body = new URLSearchParams({ ...Object.fromEntries(filled), ...typed });
    return this.#send(new URL(form[1] ?? '', page.url), { method: 'POST', body }, until);
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
      const sent = this.cookies.filter(
        ({ host, path }) =>
          host === url.hostname && `${url.pathname}/`.startsWith(path.endsWith('/') ? path : `${path}/`),
      );
      const cookie = sent.map(({ name, value }) => `${name}=${value}`).join('; ');
      const answer = await fetch(url.href.replace(this.baseUrl, this.servedAt), {
        ...init,
        redirect: 'manual',
        headers: {
          ...this.headers,
          accept: 'text/html',
          ...(cookie && { cookie }),
          ...(init.body && { origin: url.origin, 'sec-fetch-site': 'same-origin' }),
        },
        ...(this.ca && { tls: { ca: this.ca } }),
      });
      this.setCookies.push(...answer.headers.getSetCookie());
      for (const line of answer.headers.getSetCookie()) this.#store(url.hostname, line);
      const { status, headers } = answer;
      const location = headers.get('location');
      const visit = { status, url: url.href, headers, html: await answer.text(), location };
      if (location === null) return visit;
      const next = new URL(location, url);
      if (until(next)) return visit;
      url = next;
      if (status !== 307) init = { method: 'GET' };
    }
    throw new Error(`Too many redirects, the last to ${url}`);
  }

  #store(host: string, line: string): void {
    const [pair = '', ...rest] = line.split(/;\s*/);
    const [name = '', value = ''] = pair.split(/=(.*)/s);
    const path = rest.find((part) => /^path=/i.test(part))?.slice(5) ?? '/';
    const isDeleted = value === '' || rest.some((part) => /^expires=Thu, 01 Jan 1970|^max-age=0/i.test(part));
    const isSafe = path === '/' && /secure/i.test(line) && !/domain=/i.test(line);
    if (name.startsWith('__Host-') && !isSafe) return;
    const others = this.cookies.filter(
      (cookie) => cookie.host !== host || cookie.name !== name || cookie.path !== path,
    );
    const stored = { host, name, value, path, attributes: rest.join('; ') };
    this.cookies = isDeleted ? others : [...others, stored];
  }
}
