import type { MailMessage } from '../drivers/mail/mail.ts';
import { html } from '../identity/pages/html.ts';
import type { NotificationRow } from './store.ts';

/** What somebody is told, as an e-mail. */
export function mailMessage(
  { id, title, text, path, created_at }: NotificationRow,
  { to, baseUrl }: { to: MailMessage['to']; baseUrl: string },
): MailMessage {
  const link = `${baseUrl}${path}`;
  const sender = `Sent by ${new URL(baseUrl).host}, because it concerns you there.`;
  const paragraphs = text.split(/\n{2,}/).map((part) => html`<p style="white-space:pre-line">${part}</p>`);
  return {
    ...{ id, to, subject: title, at: created_at },
    text: `${text}\n\n${link}\n\n-- \n${sender}\n`,
    html: html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${title}</title></head>
<body style="font-family:sans-serif;line-height:1.5"><h1 style="font-size:1.2em">${title}</h1>
${paragraphs}
<p><a href="${link}">Open it in the console</a></p>
<p style="color:#666666">${sender}</p>
</body></html>
`.toString(),
  };
}
