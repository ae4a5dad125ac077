export interface Database {
  kind: 'embedded' | 'external';
  controlUrl: string;
  rowsUrl: string;
  adminUrl: string | null;
  stop(): Promise<void>;
  stopNow(): void;
  exited: Promise<void>;
}

export type DatabaseErrorCode =
  | 'data_dir_in_use'
  | 'busy'
  | 'running_elsewhere'
  | 'no_binaries'
  | 'no_account'
  | 'no_setpriv'
  | 'foreign_owner'
  | 'wrong_major_version'
  | 'not_a_cluster'
  | 'credentials_lost'
  | 'unsafe_socket_dir'
  | 'init_failed'
  | 'start_failed'
  | 'stop_failed'
  | 'bad_url'
  | 'unreachable'
  | 'server_too_old'
  | 'may_not_create_roles'
  | 'rows_login_failed';

export class DatabaseError extends Error {
  constructor(
    readonly code: DatabaseErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = 'DatabaseError';
  }
}
