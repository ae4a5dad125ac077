import { isText } from './is-text.ts';

/** What a Host header says. Kept for the next request of the connection, which mostly asks for the same. */
export interface Authority {
  /** As sent. */
  text: string;
  /** Small letters, without port and without a dot at its end. */
  host: string;
}

const pattern = /^([\w.-]*|\[[\da-f:.]+\])(?::\d{0,5})?$/i;

export function readAuthority(
  bytes: Buffer,
  at: number,
  end: number,
  known: Authority | null,
): Authority | 'invalid' {
  if (known !== null && end - at === known.text.length && isText(bytes, at, known.text)) return known;
  const text = bytes.toString('latin1', at, end);
  const name = pattern.exec(text)?.[1];
  if (name === undefined) return 'invalid';
  const host = name.toLowerCase();
  return { text, host: host.endsWith('.') ? host.slice(0, -1) : host };
}
