/** Effects that send e-mail have a queue of their own: a slow mail server must not delay others. */
export const mailTopics = ['notifications.mail', 'account.reset_mail'] as const;
export type MailTopic = (typeof mailTopics)[number];

export interface Mail {
  send(message: MailMessage): Promise<void>;
  check(): Promise<void>;
}

export interface MailMessage {
  /** The same for every attempt, so that recipients can recognize a duplicate. */
  id: string;
  to: MailAddress;
  subject: string;
  text: string;
  html: string;
  at: Date;
}

interface MailAddress {
  name: string;
  address: string;
}

export class MailRejectedError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'MailRefused';
  }
}

export interface MailConfig {
  host: string;
  port: number;
  tls: 'implicit' | 'required' | 'opportunistic';
  login: { user: string; password: string } | null;
  from: MailAddress;
}

/** Parses `smtp://user:password@host:port`. The RangeError does not contain the text, which has a password. */
export function parseSmtpUrl(text: string): Omit<MailConfig, 'from'> {
  const url = URL.parse(text);
  if (!url || !/^smtps?:$/.test(url.protocol) || url.hostname === '')
    throw new RangeError('must be smtp(s)://user:password@host:port.');
  if (!/^\/?$/.test(url.pathname) || url.search || url.hash) throw new RangeError('must end after the port.');
  const [user, password] = [decodePercent(url.username), decodePercent(url.password)];
  if ((user === '') !== (password === ''))
    throw new RangeError('must have both user and password, or neither.');
  const isTls = url.protocol === 'smtps:';
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const login = user === '' ? null : { user, password };
  const isLocal = /^(localhost|127\.\d+\.\d+\.\d+|::1)$/.test(host);
  return {
    host,
    port: url.port === '' ? (isTls ? 465 : 587) : Number(url.port),
    login,
    tls: isTls ? 'implicit' : login && !isLocal ? 'required' : 'opportunistic',
  };
}

export function parseMailFrom(text: string): MailAddress {
  const [, name = '', inBrackets, alone] = /^(?:([^<>]*)<([^<>]*)>|([^<>]*))$/.exec(text.trim()) ?? [];
  const address = (inBrackets ?? alone ?? '').trim();
  if (!isMailAddress(address) || /\p{Cc}/u.test(name))
    throw new RangeError('must be an e-mail address, e.g. svc <svc@example.com>.');
  return { name: name.trim().replace(/^"(.*)"$/, '$1'), address };
}

/** Rejects text that a header or an envelope could read as several addresses or as its end. */
export function isMailAddress(text: string): boolean {
  return text.length <= 254 && /^[^\s\p{Cc}@<>(),;:"\\[\]]+@[^\s\p{Cc}@<>(),;:"\\[\]]+$/u.test(text);
}

function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new RangeError('has a user or password that is not percent-encoded.');
  }
}
