import { openSmtpMail } from '../../drivers/mail/smtp-mail.ts';
import { type Check, messageOf, ok, problem } from './check.ts';

/** By a sign-in at the mail server; nothing is sent. */
export const mail: Check = {
  name: 'mail',
  needs: 'config',
  run: async ({ mail: place }) => {
    if (!place) return ok('No e-mails are sent; people are told in the console.');
    try {
      await openSmtpMail(place).check();
    } catch (error) {
      return problem(
        `The mail server ${place.host}:${place.port} can not be used: ${messageOf(error)}`,
        'Check SVC_SMTP_URL, and that this machine reaches it. What waits for a day is given up.',
      );
    }
    return ok(`E-mails are sent by ${place.host}:${place.port}, from ${place.from.address}.`);
  },
};
