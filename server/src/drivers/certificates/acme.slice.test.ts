import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import {
  type AcmeServer,
  hasAcmeServer,
  loopbackAddress,
  startAcmeServer,
} from '../../../../scripts/acme-server.ts';
import { type DnsServer, startDnsServer } from '../../../../scripts/dns-server.ts';
import { patientMs } from '../../../../scripts/patience.ts';
import { type CertificateAuthority, OrderError, openAcmeAuthority, parseRetryAfter } from './acme.ts';
import { placeholderCertificate } from './https-server.ts';

const never = new AbortController().signal;
const newKey = async () => (await import('acme-client')).default.crypto.createPrivateEcdsaKey('P-256');

async function orderError(attempt: Promise<unknown>): Promise<OrderError> {
  return attempt.then(
    () => Promise.reject(new Error('No error was thrown.')),
    (error: unknown) => (error instanceof OrderError ? error : Promise.reject(error)),
  );
}

describe.if(hasAcmeServer)('with a real ACME server', () => {
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
      accountKey: async () => accountKey,
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

  test('issues a certificate for the host with a matching key', async () => {
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

  test('uses a new key for each order and the same account', async () => {
    const [first, second] = [await order('www.example.test'), await order('www.example.test')];
    expect(first.key).not.toBe(second.key);
  });

  test('reports a failed challenge', async () => {
    const wrong = authority.order({ host: 'www.example.test', publish: async () => {}, signal: never });
    const failure = await orderError(wrong);
    expect(failure.reason).toBe('challenge_failed');
    expect(failure.message.length).toBeGreaterThan(10);
    expect((await orderError(order('elsewhere.example.test'))).reason).toBe('challenge_failed');
    expect((await orderError(order('nobody.example.test'))).reason).toBe('challenge_failed');
  });

  test('reports an unreachable or invalid directory at once', async () => {
    const at = (directory: string) =>
      openAcmeAuthority({ directory, email: undefined, trusted, accountKey: async () => accountKey });
    const begun = performance.now();
    const absent = at('https://127.0.0.1:1/directory');
    expect((await orderError(order('www.example.test', absent))).reason).toBe('authority_unreachable');
    expect((await orderError(absent.check())).reason).toBe('authority_unreachable');
    expect((await orderError(at(`http://${host}/`).check())).reason).toBe('authority_error');
    expect(performance.now() - begun).toBeLessThan(patientMs(5_000));
    await authority.check();
  });

  test('rejects a directory with an untrusted certificate', async () => {
    const strange = openAcmeAuthority({
      directory: acme.directoryUrl,
      email: undefined,
      trusted: undefined,
      accountKey: async () => accountKey,
    });
    expect((await orderError(strange.check())).reason).toBe('authority_unreachable');
  });

  test('passes on errors of publish', async () => {
    const broken = authority.order({
      host: 'www.example.test',
      publish: () => Promise.reject(new Error('no database')),
      signal: never,
    });
    expect(await broken.catch((error: unknown) => error)).toEqual(new Error('no database'));
  });

  test('stops when aborted', async () => {
    const stop = new AbortController();
    const stopped = authority.order({
      host: 'www.example.test',
      publish: async () => stop.abort(),
      signal: stop.signal,
    });
    expect((await orderError(stopped)).reason).toBe('authority_unreachable');
  });
});

test('Retry-After can be seconds or a date', async () => {
  const now = new Date('2026-01-01T00:00:00Z');
  expect(parseRetryAfter('120', now)).toEqual(new Date('2026-01-01T00:02:00Z'));
  expect(parseRetryAfter('Thu, 01 Jan 2026 01:00:00 GMT', now)).toEqual(new Date('2026-01-01T01:00:00Z'));
  for (const none of [null, '', '0', '-5', 'soon', 'Thu, 01 Jan 2025 01:00:00 GMT'])
    expect(parseRetryAfter(none, now)).toBeNull();
});

test('a rate limit has the time of the next attempt', async () => {
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
    accountKey: async () => (await newKey()).toString(),
  });
  const failure = await orderError(
    authority.order({ host: 'www.example.test', publish: async () => {}, signal: never }),
  );
  limited.stop(true);
  expect(failure.reason).toBe('rate_limited');
  expect(failure.message).toBe('too many certificates');
  expect(failure.retryAt!.getTime() - Date.now()).toBeGreaterThan(3_500_000);
});

test('the placeholder certificate has expired', async () => {
  const { cert, key } = placeholderCertificate();
  const placeholder = new X509Certificate(cert);
  expect(placeholder.checkPrivateKey((await import('node:crypto')).createPrivateKey(key))).toBe(true);
  expect(new Date(placeholder.validTo).getTime()).toBeLessThanOrEqual(Date.now());
});
