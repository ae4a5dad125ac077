import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { AcmeConfig, HttpsConfig } from '../../config.ts';
import { openAcmeAuthority } from '../../drivers/certificates/acme-authority.ts';
import { type Check, type Finding, messageOf, ok, problem, warning } from './check.ts';

/** The port where TLS ends, the files for it, and the authority for custom domains: they go together. */
export const certificates: Check = {
  name: 'certificates',
  needs: 'config',
  run: async ({ https, acme }) => {
    if (!https && !acme) return ok('TLS does not end here, and no certificates are ordered.');
    const ofFiles = https?.files ? checkFiles(https.files) : null;
    if (ofFiles) return ofFiles;
    const ofAuthority = acme ? await checkAuthority(acme) : null;
    if (ofAuthority) return ofAuthority;
    if (!https) {
      return warning(
        'Certificates are ordered for custom domains, and shown nowhere.',
        'Set SVC_HTTPS_PORT, and let port 443 lead there.',
      );
    }
    if (!acme) {
      const own = https.files ? 'Only your own certificate is shown' : 'There is no certificate to show';
      return warning(
        `${own} on port ${https.port}: none are ordered for custom domains.`,
        'Set SVC_ACME_DIRECTORY to the directory of a certificate authority.',
      );
    }
    return ok(`${new URL(acme.directory).host} answers; certificates are shown on port ${https.port}.`);
  },
};

function checkFiles(files: NonNullable<HttpsConfig['files']>): Finding | null {
  const hint = 'Correct SVC_TLS_CERT_FILE and SVC_TLS_KEY_FILE, or the files.';
  try {
    const certificate = new X509Certificate(readFileSync(files.cert));
    if (!certificate.checkPrivateKey(createPrivateKey(readFileSync(files.key))))
      return problem(`${files.key} is not the key of ${files.cert}.`, hint);
    if (new Date(certificate.validTo) <= new Date())
      return problem(`${files.cert} ended at ${certificate.validTo}.`, 'Renew it; the server reads it anew.');
    return null;
  } catch (error) {
    return problem(`The certificate can not be read: ${messageOf(error)}`, hint);
  }
}

async function checkAuthority(acme: AcmeConfig): Promise<Finding | null> {
  try {
    const trusted = acme.caFile === null ? undefined : readFileSync(acme.caFile, 'utf8');
    await openAcmeAuthority({ ...acme, email: undefined, trusted, accountKey: '' }).check();
    return null;
  } catch (error) {
    return problem(
      `The certificate authority can not be used: ${messageOf(error)}`,
      'Check SVC_ACME_DIRECTORY and SVC_ACME_CA_FILE, and that this machine reaches it.',
    );
  }
}
