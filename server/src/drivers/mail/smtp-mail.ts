import type { Transporter } from 'nodemailer';
import { type Mail, type MailMessage, MailRefused } from './mail.ts';
import { isMailAddress, type MailPlace } from './parse-mail-place.ts';

/** A server that says nothing must not keep what waits behind it. */
const connectMsMax = 8_000;
const silenceMsMax = 15_000;

/** A real server by SMTP. The client is loaded by the first who sends. */
export function openSmtpMail(place: MailPlace): Mail {
  let transporter: Promise<Transporter> | undefined;
  const connect = () => {
    transporter ??= import('nodemailer').then(({ createTransport }) =>
      createTransport({
        ...{ host: place.host, port: place.port },
        secure: place.tls === 'from the start',
        requireTLS: place.tls === 'required',
        ...(place.login ? { auth: { user: place.login.user, pass: place.login.password } } : {}),
        ...{ connectionTimeout: connectMsMax, greetingTimeout: connectMsMax, socketTimeout: silenceMsMax },
        // No part of a message is fetched from anywhere.
        ...{ disableFileAccess: true, disableUrlAccess: true },
      }),
    );
    return transporter;
  };
  return {
    async send(message) {
      if (!isMailAddress(message.to.address)) throw new MailRefused('The address is none.');
      const client = await connect();
      try {
        await client.sendMail(sent(place, message));
      } catch (error) {
        if (isRefusal(error)) throw new MailRefused('The mail server refused the address.', { cause: error });
        throw error;
      }
    },
    async check() {
      await (await connect()).verify();
    },
  };
}

/** Addresses as objects are never read as lists, and the client encodes what is no plain word of a header. */
function sent({ from }: MailPlace, { id, to, subject, text, html, at }: MailMessage) {
  return {
    messageId: `<${id}@${from.address.slice(from.address.indexOf('@') + 1)}>`,
    from,
    to: { name: oneLine(to.name), address: to.address },
    ...{ subject: oneLine(subject), text, html, date: at },
    // So that nobody's note of absence answers it.
    headers: { 'auto-submitted': 'auto-generated' },
  };
}

const oneLine = (text: string) => text.replace(/[\s\p{Cc}\p{Cf}]+/gu, ' ').trim();

/** The one recipient, and for good: what is wrong with the login or the sender, the operator can mend. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { command, responseCode } = error as Error & { command?: unknown; responseCode?: unknown };
  return command === 'RCPT TO' && typeof responseCode === 'number' && responseCode >= 500;
}
