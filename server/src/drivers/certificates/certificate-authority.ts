export interface CertificateAuthority {
  name: string;
  check(): Promise<void>;
  order(order: CertificateOrder): Promise<IssuedCertificate>;
}

export interface CertificateOrder {
  host: string;
  /** After this, every replica must serve the text at `http://<host>/.well-known/acme-challenge/<token>`. */
  publish(challenge: { token: string; text: string }): Promise<void>;
  signal: AbortSignal;
}

export interface IssuedCertificate {
  chain: string;
  key: string;
  notBefore: Date;
  notAfter: Date;
}

export type OrderErrorReason =
  | 'authority_unreachable'
  | 'authority_error'
  | 'rate_limited'
  | 'host_refused'
  | 'caa_forbids'
  | 'challenge_failed';

export class OrderError extends Error {
  constructor(
    readonly reason: OrderErrorReason,
    text: string,
    readonly retryAt: Date | null = null,
  ) {
    super(text.replace(/\s+/g, ' ').trim().slice(0, 500));
    this.name = 'OrderFailure';
  }
}
