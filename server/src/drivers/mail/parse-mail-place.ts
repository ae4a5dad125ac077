import type { MailAddress } from './mail.ts';

/** A server that takes e-mails, and in whose name they are sent. */
export interface MailPlace {
  host: string;
  port: number;
  /** `from the start`: `smtps`. `required`: not a word of a password without it. `where offered`: to a server without one. */
  tls: 'from the start' | 'required' | 'where offered';
  login: { user: string; password: string } | null;
  from: MailAddress;
}

/** `smtp://user:password@host:port`; a RangeError says what is wrong with it, without repeating it. */
export function parseSmtpUrl(text: string): Omit<MailPlace, 'from'> {
  const url = URL.parse(text);
  if (!url || !/^smtps?:$/.test(url.protocol) || url.hostname === '')
    throw new RangeError('must be smtp(s)://user:password@host:port.');
  if (!/^\/?$/.test(url.pathname) || url.search || url.hash)
    throw new RangeError('has nothing behind the port.');
  const [user, password] = [decoded(url.username), decoded(url.password)];
  if ((user === '') !== (password === '')) throw new RangeError('has a user and a password, or neither.');
  const isTls = url.protocol === 'smtps:';
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const login = user === '' ? null : { user, password };
  const isHere = /^(localhost|127\.\d+\.\d+\.\d+|::1)$/.test(host);
  return {
    ...{ host, port: url.port === '' ? (isTls ? 465 : 587) : Number(url.port), login },
    tls: isTls ? 'from the start' : login && !isHere ? 'required' : 'where offered',
  };
}

/** `svc <svc@example.com>` or the address alone. */
export function parseMailFrom(text: string): MailAddress {
  const [, name = '', inBrackets, alone] = /^(?:([^<>]*)<([^<>]*)>|([^<>]*))$/.exec(text.trim()) ?? [];
  const address = (inBrackets ?? alone ?? '').trim();
  if (!isMailAddress(address) || /\p{Cc}/u.test(name))
    throw new RangeError('must be an e-mail address, e.g. svc <svc@example.com>.');
  return { name: name.trim().replace(/^"(.*)"$/, '$1'), address };
}

/** One address and nothing else: what a header or an envelope could take for two, or for its end, is none. */
export function isMailAddress(text: string): boolean {
  return text.length <= 254 && /^[^\s\p{Cc}@<>(),;:"\\[\]]+@[^\s\p{Cc}@<>(),;:"\\[\]]+$/u.test(text);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new RangeError('has a user or a password that is not percent-encoded.');
  }
}
