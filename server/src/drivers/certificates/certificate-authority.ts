/** Who gives certificates for hosts that lead here, once it has seen that they do. */
export interface CertificateAuthority {
  /** By which it is told from others, such as the address of its directory. */
  name: string;
  /** Fails where it does not answer, or not as an authority does. */
  check(): Promise<void>;
  /** Takes seconds. Fails with an `OrderFailure`, also when the signal ends it. */
  order(order: CertificateOrder): Promise<IssuedCertificate>;
}

export interface CertificateOrder {
  /** In ASCII. */
  host: string;
  /** From now on `http://<host>/.well-known/acme-challenge/<token>` must answer with the text, whoever is asked. */
  publish(challenge: { token: string; text: string }): Promise<void>;
  signal: AbortSignal;
}

/** PEM; a new key each time. */
export interface IssuedCertificate {
  /** The host's own first. */
  chain: string;
  key: string;
  notBefore: Date;
  notAfter: Date;
}

export type OrderFailureReason =
  | 'authority_unreachable'
  | 'authority_error'
  | 'rate_limited'
  | 'host_refused'
  | 'caa_forbids'
  | 'challenge_failed';

export class OrderFailure extends Error {
  readonly reason: OrderFailureReason;
  /** Before then the authority does not want to be asked again. */
  readonly retryAt: Date | null;

  /** The text is for people. */
  constructor(reason: OrderFailureReason, text: string, retryAt: Date | null = null) {
    super(text.replace(/\s+/g, ' ').trim().slice(0, textMax));
    this.name = 'OrderFailure';
    this.reason = reason;
    this.retryAt = retryAt;
  }
}

const textMax = 500;
