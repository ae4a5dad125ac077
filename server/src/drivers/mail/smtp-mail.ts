import type { Transporter } from 'nodemailer';
import { isMailAddress, type Mail, type MailConfig, type MailMessage, MailRejectedError } from './mail.ts';

const connectMsMax = 8_000;
const idleMsMax = 15_000;

export function openSmtpMail(config: MailConfig): Mail {
  let transporter: Promise<Transporter> | undefined;
  const connect = () => {
    transporter ??= import('nodemailer').then(({ createTransport }) =>
      createTransport({
        host: config.host,
        port: config.port,
        secure: config.tls === 'implicit',
        requireTLS: config.tls === 'required',
        ...(config.login ? { auth: { user: config.login.user, pass: config.login.password } } : {}),
        connectionTimeout: connectMsMax,
        greetingTimeout: connectMsMax,
        socketTimeout: idleMsMax,
        disableFileAccess: true,
        disableUrlAccess: true,
      }),
    );
    return transporter;
  };
  return {
    async send(message) {
      if (!isMailAddress(message.to.address)) throw new MailRejectedError('The address is invalid.');
      const client = await connect();
      try {
        await client.sendMail(toNodemailer(config, message));
      } catch (error) {
        if (isRecipientRejected(error))
          throw new MailRejectedError('The mail server rejected the address.', { cause: error });
        throw error;
      }
    },
    async check() {
      await (await connect()).verify();
    },
  };
}

/** Addresses are objects, because nodemailer would parse strings as lists. */
function toNodemailer({ from }: MailConfig, { id, to, subject, text, html, at }: MailMessage) {
  return {
    messageId: `<${id}@${from.address.slice(from.address.indexOf('@') + 1)}>`,
    from,
    to: { name: toOneLine(to.name), address: to.address },
    subject: toOneLine(subject),
    text,
    html,
    date: at,
    headers: { 'auto-submitted': 'auto-generated' },
  };
}

const toOneLine = (text: string) => text.replace(/[\s\p{Cc}\p{Cf}]+/gu, ' ').trim();

/** A permanent error for the recipient. The operator can fix errors of the login or the sender, so those are retried. */
function isRecipientRejected(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { command, responseCode } = error as Error & { command?: unknown; responseCode?: unknown };
  return command === 'RCPT TO' && typeof responseCode === 'number' && responseCode >= 500;
}
