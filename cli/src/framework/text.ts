export interface Style {
  width: number | null;
  colour: boolean;
  unicode: boolean;
}

export function bold(style: Style, text: string): string {
  return style.colour ? `\u001b[1m${text}\u001b[22m` : text;
}

export function tint(style: Style, colour: 'red' | 'green' | 'yellow' | 'dim', text: string): string {
  if (!style.colour) return text;
  const code = { red: 31, green: 32, yellow: 33, dim: 2 }[colour];
  return `\u001b[${code}m${text}\u001b[${colour === 'dim' ? 22 : 39}m`;
}

/**
 * Text from the server as one line that cannot control the terminal: control characters become visible, and
 * bidirectional formatting characters are removed.
 */
export function sanitize(text: string): string {
  if (/^[\x20-\x7e]*$/.test(text)) return text;
  return text
    .replace(/\r?\n/g, ' ')
    .replace(/\t/g, ' ')
    .replace(/\p{Cc}/gu, (char) => `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`)
    .replace(/[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '');
}

export function cellText(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value) && value.every((entry) => typeof entry !== 'object'))
    return value.map(cellText).join(', ');
  return sanitize(typeof value === 'object' ? JSON.stringify(value) : String(value));
}

export function joinOr(values: readonly string[]): string {
  return values.length < 2 ? values.join('') : `${values.slice(0, -1).join(', ')} or ${values.at(-1)}`;
}
