/** Hands e-mails over to a server that delivers them. */
export interface Mail {
  /** Resolves once the server has taken it. `MailRefused` where it never will; anything else may pass. */
  send(message: MailMessage): Promise<void>;
  /** Throws with a sentence for the operator where the server can not be used. */
  check(): Promise<void>;
}

export interface MailMessage {
  /** The same for the same message, so that one that is sent twice can be known for one. */
  id: string;
  to: MailAddress;
  subject: string;
  text: string;
  html: string;
  at: Date;
}

export interface MailAddress {
  name: string;
  address: string;
}

/** The address is none, or the server will not have it: to try again would change nothing. */
export class MailRefused extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'MailRefused';
  }
}
