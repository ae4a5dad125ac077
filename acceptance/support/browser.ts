/** A page without scripts. */
export interface Page {
  url: string;
  status: number;
  html: string;
}

/** Follows redirects, stores cookies and submits forms, as a browser does. */
export class Browser {
  readonly #baseUrl: string;
  readonly #cookies = new Map<string, { value: string; path: string }>();

  constructor(baseUrl: string) {
    this.#baseUrl = baseUrl;
  }

  cookie(name: string): string | undefined {
    return [...this.#cookies].find(([key]) => key.split(' ')[0] === name)?.[1].value;
  }

  open(address: string): Promise<Page> {
    return this.#send(new URL(address, this.#baseUrl));
  }

  /** Fills in and submits the form of the button with this text. */
  press(page: Page, button: string, typed: Record<string, string> = {}): Promise<Page> {
    const forms = [...page.html.matchAll(/<form[^>]* action="([^"]*)"[^>]*>([\s\S]*?)<\/form>/g)];
    const form = forms.find(([, , inner]) => new RegExp(`<button[^>]*>\\s*${button}\\s*<`).test(inner!));
    if (!form) throw new Error(`There is no button ${button} on ${page.url} (${page.status}):\n${page.html}`);
    const fields = new URLSearchParams();
    for (const [input] of form[2]!.matchAll(/<input [^>]*>/g)) {
      const attribute = (name: string) => new RegExp(` ${name}="([^"]*)"`).exec(input)?.[1] ?? '';
      fields.set(attribute('name'), attribute('value'));
    }
    for (const [name, value] of Object.entries(typed)) {
      if (!fields.has(name)) throw new Error(`The form has no field ${name}.`);
      fields.set(name, value);
    }
    return this.#send(new URL(form[1]!, page.url), fields);
  }

  async #send(url: URL, form?: URLSearchParams): Promise<Page> {
    for (let hops = 0; hops < 20; hops += 1) {
      const answer = await fetch(url, {
        method: form ? 'POST' : 'GET',
        redirect: 'manual',
        headers: {
          accept: 'text/html',
          cookie: this.#cookiesFor(url),
          ...(form && { origin: url.origin, 'sec-fetch-site': 'same-origin' }),
        },
        ...(form && { body: form }),
      });
      for (const line of answer.headers.getSetCookie()) this.#keep(line);
      const location = answer.headers.get('location');
      if (!location) return { url: url.href, status: answer.status, html: await answer.text() };
      url = new URL(location, url);
      form = undefined;
    }
    throw new Error(`Too many redirects; the last to ${url}.`);
  }

  #cookiesFor(url: URL): string {
    const fitting = [...this.#cookies].filter(
      ([, { path }]) =>
        url.pathname === path || url.pathname.startsWith(path.endsWith('/') ? path : `${path}/`),
    );
    return fitting.map(([key, { value }]) => `${key.split(' ')[0]}=${value}`).join('; ');
  }

  #keep(line: string): void {
    const [pair = '', ...attributes] = line.split(/;\s*/);
    const name = pair.slice(0, pair.indexOf('='));
    const value = pair.slice(name.length + 1);
    const path = attributes.find((it) => /^path=/i.test(it))?.slice(5) ?? '/';
    if (value === '' || attributes.some((it) => /^(?:max-age=0|expires=thu, 01 jan 1970)/i.test(it)))
      this.#cookies.delete(`${name} ${path}`);
    else this.#cookies.set(`${name} ${path}`, { value, path });
  }
}
