/** An open PostgreSQL with its two logins: one for the control plane, one that reaches row data only. */
export interface Database {
  kind: 'embedded' | 'external';
  controlUrl: string;
  rowsUrl: string;
  /** The superuser's, which only an embedded PostgreSQL lets us have. */
  adminUrl: string | null;
  stop(): Promise<void>;
  /** Sends the order to stop and returns at once: for the way out of a process that can't wait. */
  stopNow(): void;
  /** Resolves when an embedded PostgreSQL ended without being asked to, and for a server: could not be kept up. */
  exited: Promise<void>;
}
