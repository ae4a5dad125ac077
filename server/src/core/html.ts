export class Html {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  toString(): string {
    return this.#text;
  }
}

type HtmlValue = string | number | Html | readonly Html[] | null | undefined | false;

export function html(parts: TemplateStringsArray, ...values: HtmlValue[]): Html {
  return new Html(parts.map((part, index) => part + render(values[index])).join(''));
}

function render(value: HtmlValue): string {
  if (value === null || value === undefined || value === false) return '';
  if (value instanceof Html) return value.toString();
  if (typeof value === 'object') return value.map(String).join('');
  return String(value).replace(/[&<>"'`]/g, (char) => `&#${char.charCodeAt(0)};`);
}
