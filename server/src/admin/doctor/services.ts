import { createPrivateKey, X509Certificate } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadKey } from '../../core/keys.ts';
import { builtInAppKey } from '../../delivery/git-host/deps.ts';
import { findUnshared, listServers } from '../../delivery/server-registry.ts';
import { type AcmeConfig, openAcmeAuthority } from '../../drivers/certificates/acme.ts';
import type { HttpsConfig } from '../../drivers/certificates/https-server.ts';
import { openGitHost } from '../../drivers/git/open-git-host.ts';
import { openSmtpMail } from '../../drivers/mail/smtp-mail.ts';
import { openObjectStore } from '../../drivers/object-store/open-object-store.ts';
import { hasTable } from '../system.ts';
import { configCheck, databaseCheck, errorText, type Finding, ok, problem, warning } from './check.ts';

export const objectStore = configCheck('object store', async (config) => {
  const { objectStore: target, dataDir } = config;
  const folder = join(dataDir, 'objects');
  // A folder created by the doctor might not be writable for the server.
  if (target.kind === 'file' && !existsSync(folder)) return ok(`There are no objects in ${folder} yet.`);
  try {
    await openObjectStore(config).check();
  } catch (error) {
    const hint =
      target.kind === 'file'
        ? 'Make the data dir writable for the server, and free disk space.'
        : 'Compare SVC_OBJECT_STORE, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY with the settings of the object store.';
    return problem(errorText(error), hint);
  }
  return ok(
    target.kind === 'file'
      ? `Objects are files in ${folder}.`
      : `Objects are in the bucket ${target.bucket} at ${target.endpoint}.`,
  );
});

const discoveryMsMax = 5_000;

export const openidProvider = configCheck('openid provider', async ({ upstream }) => {
  if (!upstream) return ok('None is configured; users sign in with passwords.');
  const hint = 'Check SVC_OIDC_ISSUER, and that this machine can connect to it: sign-in through it fails.';
  const address = `${upstream.issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  try {
    const answer = await fetch(address, { signal: AbortSignal.timeout(discoveryMsMax) });
    if (!answer.ok) return problem(`${address} returns ${answer.status}.`, hint);
    const { issuer } = Object(await answer.json()) as { issuer?: unknown };
    if (issuer === upstream.issuer) return ok(`${upstream.name} responds.`);
    return problem(
      `${address} has the issuer ${JSON.stringify(issuer)}.`,
      'Set SVC_OIDC_ISSUER to this value.',
    );
  } catch (error) {
    return problem(`${address} does not answer: ${errorText(error)}`, hint);
  }
});

export const certificates = configCheck('certificates', async ({ https, acme }) => {
  if (!https && !acme) return ok('TLS is not terminated here, and no certificates are ordered.');
  const fileFinding = https?.files ? checkFiles(https.files) : null;
  if (fileFinding) return fileFinding;
  const authorityFinding = acme ? await checkAuthority(acme) : null;
  if (authorityFinding) return authorityFinding;
  if (!https) {
    return warning(
      'Certificates are ordered for custom domains, but not served.',
      'Set SVC_HTTPS_PORT, and forward port 443 to it.',
    );
  }
  if (!acme) {
    const own = https.files ? 'Only your own certificate is served' : 'There is no certificate to serve';
    return warning(
      `${own} on port ${https.port}: none are ordered for custom domains.`,
      'Set SVC_ACME_DIRECTORY to the directory URL of a certificate authority.',
    );
  }
  return ok(`${new URL(acme.directory).host} responds; certificates are served on port ${https.port}.`);
});

function checkFiles(files: NonNullable<HttpsConfig['files']>): Finding | null {
  const hint = 'Fix SVC_TLS_CERT_FILE and SVC_TLS_KEY_FILE, or the files.';
  try {
    const certificate = new X509Certificate(readFileSync(files.cert));
    if (!certificate.checkPrivateKey(createPrivateKey(readFileSync(files.key))))
      return problem(`${files.key} is not the key of ${files.cert}.`, hint);
    if (new Date(certificate.validTo) <= new Date())
      return problem(`${files.cert} expired at ${certificate.validTo}.`, 'Renew it; the server reloads it.');
    return null;
  } catch (error) {
    return problem(`The certificate cannot be read: ${errorText(error)}`, hint);
  }
}

async function checkAuthority(acme: AcmeConfig): Promise<Finding | null> {
  try {
    const trusted = acme.caFile === null ? undefined : readFileSync(acme.caFile, 'utf8');
    await openAcmeAuthority({ ...acme, email: undefined, trusted, accountKey: async () => '' }).check();
    return null;
  } catch (error) {
    return problem(
      `The certificate authority is not usable: ${errorText(error)}`,
      'Check SVC_ACME_DIRECTORY and SVC_ACME_CA_FILE, and that this machine can connect to it.',
    );
  }
}

export const mail = configCheck('mail', async ({ mail: target }) => {
  if (!target) return ok('No e-mails are sent; notifications are in the console only.');
  try {
    await openSmtpMail(target).check();
  } catch (error) {
    return problem(
      `The mail server ${target.host}:${target.port} is not usable: ${errorText(error)}`,
      'Check SVC_SMTP_URL, and that this machine reaches it. Undelivered e-mails are dropped after a day.',
    );
  }
  return ok(`E-mails are sent through ${target.host}:${target.port}, from ${target.from.address}.`);
});

export const otherServers = databaseCheck('other servers', async ({ control }) => {
  if (!(await hasTable(control.pool, 'svc.servers'))) return ok('None has started yet.');
  const servers = await listServers(control.db);
  const [first, ...others] = findUnshared(servers);
  if (!first)
    return ok(
      servers.length > 1 ? `${servers.length} servers share what they must.` : 'None uses this database.',
    );
  const details = [first, ...others].map(({ detail }) => detail);
  const hints = [first, ...others].map(({ hint }) => hint);
  return problem(details.join(' '), hints.join(' '));
});

export const gitHost = databaseCheck('git host', async ({ config, control }) => {
  if (config.gitHost.kind === 'built-in') return ok(`The built-in one, at ${config.baseUrl}/git.`);
  const hint = 'Compare SVC_GIT_HOST_… with what the git host shows of the app.';
  try {
    const host = await openGitHost(config, { builtIn: await loadKey(control.db, builtInAppKey) });
    const { ok: isOk, detail } = await host.check();
    return isOk ? ok(detail) : problem(detail, hint);
  } catch (error) {
    return problem(errorText(error), hint);
  }
});
