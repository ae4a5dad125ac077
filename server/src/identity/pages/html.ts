/** Text that is already HTML. A string from outside can never pass for it. */
export class Html {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  toString(): string {
    return this.#text;
  }
}

export type HtmlValue = string | number | Html | readonly Html[] | null | undefined | false;

/** A template whose values are escaped, for text and for quoted attributes. */
export function html(parts: TemplateStringsArray, ...values: HtmlValue[]): Html {
  return new Html(parts.map((part, index) => part + inserted(values[index])).join(''));
}

function inserted(value: HtmlValue): string {
  if (value === null || value === undefined || value === false) return '';
  if (value instanceof Html) return value.toString();
  if (typeof value === 'object') return value.map(String).join('');
  return escaped(String(value));
}

function escaped(text: string): string {
  return text.replace(/[&<>"'`]/g, (char) => `&#${char.charCodeAt(0)};`);
}
