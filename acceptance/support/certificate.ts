import { chmodSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Certificate {
  /** Files. */
  cert: string;
  key: string;
  /** The certificate of the authority itself. */
  ca: string;
}

/** A certificate authority, and a certificate of it for `localhost`. */
export function createCertificate(folder: string): Certificate {
  const path = (name: string) => join(folder, name);
  const openssl = (line: string) => {
    const ran = Bun.spawnSync(['openssl', ...line.split(' ')], { cwd: folder, stderr: 'pipe' });
    if (ran.exitCode !== 0) throw new Error(`openssl failed: ${ran.stderr}`);
  };
  const key = '-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes';
  openssl(`req -x509 ${key} -keyout ca.key -out ca.crt -days 2 -subj /CN=Test-CA`);
  openssl(
    `req -x509 ${key} -CA ca.crt -CAkey ca.key -keyout server.key -out server.crt -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost -addext basicConstraints=critical,CA:FALSE`,
  );
  chmodSync(path('server.key'), 0o600);
  return { cert: path('server.crt'), key: path('server.key'), ca: readFileSync(path('ca.crt'), 'utf8') };
}
