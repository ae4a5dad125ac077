import { ConnectorError, type ConnectorTarget } from './types.ts';

/** What an admin can act on. The message of the server is not repeated: it may contain more than they may know. */
export function openError(cause: unknown, { settings }: ConnectorTarget): ConnectorError {
  const { host, port, database, username } = settings;
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  const message = cause instanceof Error ? cause.message : '';
  const text = (() => {
    if (/^28|ER_ACCESS_DENIED/.test(code)) return `The server refused the login of ${username}.`;
    if (/^3D000|ER_BAD_DB|ER_DBACCESS/.test(code)) return `The login cannot open the database ${database}.`;
    if (code === 'ECONNREFUSED') return `Nothing listens at ${host}:${port}.`;
    if (/ETIMEDOUT|EHOSTUNREACH|ENETUNREACH/.test(code) || /timeout/i.test(message))
      return `${host}:${port} does not answer.`;
    if (/does not support SSL|HANDSHAKE_NO_SSL/i.test(`${code} ${message}`))
      return 'The server does not support TLS. Use tls disable only in a network that you trust.';
    if (/CERT|SELF_SIGNED|UNABLE_TO|ALTNAME|certificate/i.test(`${code} ${message}`))
      return `The certificate of ${host} cannot be verified. Set the CA certificate, or the host name that it is for.`;
    if (/too many/i.test(message) || code.startsWith('53')) return 'The server accepts no more connections.';
    return `The connection to ${host}:${port} failed.`;
  })();
  return new ConnectorError(text, { cause });
}
