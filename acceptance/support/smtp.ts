import { join } from 'node:path';
import { type SmtpServer, startSmtpServer } from '../../scripts/smtp-server.ts';
import { temporaryFolder } from './server.ts';

export {
  hasSmtpServer,
  needsSmtpServer,
  type ReceivedMail,
  type SmtpServer,
} from '../../scripts/smtp-server.ts';

/** A real mail server, with what it takes in a folder of the test's own. */
export function startSmtp(place: { port?: number } = {}): Promise<SmtpServer> {
  return startSmtpServer(join(temporaryFolder(), 'smtp'), place);
}

/** What makes a server send by it. */
export function smtpEnv({ url }: Pick<SmtpServer, 'url'>): Record<string, string> {
  return { SVC_SMTP_URL: url, SVC_MAIL_FROM: 'svc of ours <svc@mail.example>' };
}
