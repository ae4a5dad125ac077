import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import {
  type AcmeServer,
  hasAcmeServer,
  loopbackAddress,
  needsAcmeServer,
  startAcmeServer,
} from '../../../../scripts/acme-server.ts';
import { type DnsServer, startDnsServer } from '../../../../scripts/dns-server.ts';
import { openAcmeAuthority } from './acme-authority.ts';
import { retryAtOf } from './acme-problem.ts';
import type { CertificateAuthority } from './certificate-authority.ts';
import { OrderFailure } from './certificate-authority.ts';
import { placeholderCertificate } from './placeholder-certificate.ts';

setDefaultTimeout(60_000);

const never = new AbortController().signal;
const newKey = async () => (await import('acme-client')).default.crypto.createPrivateEcdsaKey('P-256');

async function failureOf(attempt: Promise<unknown>): Promise<OrderFailure> {
  return attempt.then(
    () => Promise.reject(new Error('It did not fail.')),
    (error: unknown) => (error instanceof OrderFailure ? error : Promise.reject(error)),
  );
}

describe.skipIf(!hasAcmeServer && !needsAcmeServer)('an ACME authority, with a real one,', () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-acme-'));
  const host = loopbackAddress();
  const tokens = new Map<string, string>();
  let dns: DnsServer;
  let acme: AcmeServer;
  let web: Bun.Server<undefined>;
  let authority: CertificateAuthority;
  let accountKey: string;
  let trusted: string;

  beforeAll(async () => {
    dns = await startDnsServer(join(folder, 'dns'), { host, port: 53 });
    await dns.setZone('example.test', [
      { name: 'www.example.test', type: 'A', value: host },
      { name: 'elsewhere.example.test', type: 'A', value: '127.0.0.2' },
    ]);
    acme = await startAcmeServer(join(folder, 'acme'), { dnsHost: host });
    web = Bun.serve({
      hostname: host,
      port: 80,
      fetch: ({ url }) => new Response(tokens.get(new URL(url).pathname) ?? 'none'),
    });
    trusted = await Bun.file(acme.caFile).text();
    accountKey = (await newKey()).toString();
    authority = openAcmeAuthority({
      directory: acme.directoryUrl,
      email: 'ops@example.test',
      trusted,
      accountKey,
    });
  });
  afterAll(async () => {
    web?.stop(true);
    await acme?.stop();
    await dns?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const publish = async ({ token, text }: { token: string; text: string }) =>
    void tokens.set(`/.well-known/acme-challenge/${token}`, text);
  const order = (name: string, on = authority) => on.order({ host: name, publish, signal: never });

  test('gives a certificate for exactly the host, with the key that fits it', async () => {
    const issued = await order('www.example.test');
    const own = new X509Certificate(issued.chain);
    expect(own.subjectAltName).toBe('DNS:www.example.test');
    expect(own.publicKey.asymmetricKeyDetails?.namedCurve).toBe('prime256v1');
    expect(own.checkPrivateKey((await import('node:crypto')).createPrivateKey(issued.key))).toBe(true);
    expect(issued.notAfter.getTime()).toBeGreaterThan(Date.now());
    expect(issued.notBefore.getTime()).toBeLessThanOrEqual(Date.now());
    const server = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      tls: { cert: issued.chain, key: issued.key },
      fetch: () => new Response('hello'),
    });
    const socket = connect({
      host: '127.0.0.1',
      port: server.port ?? 0,
      servername: 'www.example.test',
      ca: trusted,
    });
    await new Promise<void>((resolve, reject) => socket.once('secureConnect', resolve).once('error', reject));
    expect(socket.authorized).toBe(true);
    socket.destroy();
    server.stop(true);
  });

  test('makes a new key with each order, and knows its account again', async () => {
    const [first, second] = [await order('www.example.test'), await order('www.example.test')];
    expect(first.key).not.toBe(second.key);
  });

  test('says what the authority found where the host does not answer as it should', async () => {
    const wrong = authority.order({ host: 'www.example.test', publish: async () => {}, signal: never });
    const failure = await failureOf(wrong);
    expect(failure.reason).toBe('challenge_failed');
    expect(failure.message.length).toBeGreaterThan(10);
    expect((await failureOf(order('elsewhere.example.test'))).reason).toBe('challenge_failed');
    expect((await failureOf(order('nobody.example.test'))).reason).toBe('challenge_failed');
  });

  test('says so at once where the authority does not answer, and where it is none', async () => {
    const at = (directory: string) => openAcmeAuthority({ directory, email: undefined, trusted, accountKey });
    const begun = performance.now();
    const absent = at('https://127.0.0.1:1/directory');
    expect((await failureOf(order('www.example.test', absent))).reason).toBe('authority_unreachable');
    expect((await failureOf(absent.check())).reason).toBe('authority_unreachable');
    expect((await failureOf(at(`http://${host}/`).check())).reason).toBe('authority_error');
    expect(performance.now() - begun).toBeLessThan(5_000);
    await authority.check();
  });

  test('trusts no authority that its own list does not have', async () => {
    const strange = openAcmeAuthority({
      directory: acme.directoryUrl,
      email: undefined,
      trusted: undefined,
      accountKey,
    });
    expect((await failureOf(strange.check())).reason).toBe('authority_unreachable');
  });

  test('does not blame the authority for what goes wrong here', async () => {
    const broken = authority.order({
      host: 'www.example.test',
      publish: () => Promise.reject(new Error('no database')),
      signal: never,
    });
    expect(await broken.catch((error: unknown) => error)).toEqual(new Error('no database'));
  });

  test('gives up when it is told to', async () => {
    const stop = new AbortController();
    const stopped = authority.order({
      host: 'www.example.test',
      publish: async () => stop.abort(),
      signal: stop.signal,
    });
    expect((await failureOf(stopped)).reason).toBe('authority_unreachable');
  });
});

test('when an authority may be asked again is told by the second or by the clock', async () => {
  const now = new Date('2026-01-01T00:00:00Z');
  expect(retryAtOf('120', now)).toEqual(new Date('2026-01-01T00:02:00Z'));
  expect(retryAtOf('Thu, 01 Jan 2026 01:00:00 GMT', now)).toEqual(new Date('2026-01-01T01:00:00Z'));
  for (const none of [null, '', '0', '-5', 'soon', 'Thu, 01 Jan 2025 01:00:00 GMT'])
    expect(retryAtOf(none, now)).toBeNull();
});

test('an authority that is asked too often is left alone for as long as it says', async () => {
  const limited = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: () =>
      Response.json(
        { type: 'urn:ietf:params:acme:error:rateLimited', detail: 'too many certificates' },
        { status: 429, headers: { 'retry-after': '3600', 'content-type': 'application/problem+json' } },
      ),
  });
  const authority = openAcmeAuthority({
    directory: `${limited.url.href}directory`,
    email: undefined,
    trusted: undefined,
    accountKey: (await newKey()).toString(),
  });
  const failure = await failureOf(
    authority.order({ host: 'www.example.test', publish: async () => {}, signal: never }),
  );
  limited.stop(true);
  expect(failure.reason).toBe('rate_limited');
  expect(failure.message).toBe('too many certificates');
  expect(failure.retryAt!.getTime() - Date.now()).toBeGreaterThan(3_500_000);
});

test('the placeholder is a certificate that nobody takes for a real one', async () => {
  const { cert, key } = placeholderCertificate();
  const placeholder = new X509Certificate(cert);
  expect(placeholder.checkPrivateKey((await import('node:crypto')).createPrivateKey(key))).toBe(true);
  expect(new Date(placeholder.validTo).getTime()).toBeLessThanOrEqual(Date.now());
});
