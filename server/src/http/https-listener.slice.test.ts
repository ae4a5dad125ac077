import { afterAll, describe, expect, test } from 'bun:test';
import { X509Certificate } from 'node:crypto';
import { connect } from 'node:tls';
import { placeholderCertificate } from '../drivers/certificates/https-server.ts';
import { silentLog } from '../drivers/testing.ts';
import type { Edge } from './edge-request.ts';
import { type HttpsListener, openHttpsListener } from './https-listener.ts';
import { textResponse } from './raw-http/testing.ts';
import { openSocketCalls } from './socket-calls.ts';

/** Answers all hosts; one path later. */
const edge: Edge = {
  serves: () => true,
  answer({ path, scheme, authority }) {
    const response = textResponse(`${scheme} ${authority}`);
    return path === '/later' ? Bun.sleep(300).then(() => response) : response;
  },
};
const answering = {
  edge: () => edge,
  trustedProxies: { includes: () => false },
  passThroughClients: null,
  log: silentLog,
};
const gone = new Set<string>();
const isServed = (host: string) => !gone.has(host);
const opened: HttpsListener[] = [];
afterAll(() => Promise.all(opened.map((listener) => listener.stop(100))));

const sockets = ['a socket of its own', 'a socket that processes share'] as const;

function openOn(socket: (typeof sockets)[number], limits: { handshakeMs?: number } = {}) {
  const otherwise = placeholderCertificate();
  const shared = socket === sockets[1] ? openSocketCalls()?.bind({ host: '127.0.0.1', port: 0 }) : undefined;
  const listener = openHttpsListener({
    host: '127.0.0.1',
    port: shared?.port ?? 0,
    descriptor: shared?.fd,
    ...answering,
    defaultCertificate: otherwise,
    isServed,
    ...limits,
  });
  listener.accept();
  opened.push(listener);
  return { listener, otherwise };
}

const fingerprint = (pem: { cert: string }) => new X509Certificate(pem.cert).fingerprint256;
const newCertificate = (serverName: string) => ({ serverName, ...placeholderCertificate() });

/** The certificate that a client gets for a server name. */
function shownAt(port: number, servername?: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false, servername }, () => {
    resolve(socket.getPeerCertificate().fingerprint256);
    socket.destroy();
  });
  socket.once('error', reject);
  return promise;
}

const ask = (port: number, path = '/', keepalive = true) =>
  fetch(`https://127.0.0.1:${port}${path}`, { tls: { rejectUnauthorized: false }, keepalive });

describe.each(sockets)('on %s', (on) => {
  const newListener = (limits?: { handshakeMs?: number }) => openOn(on, limits);

  test('each host gets its own certificate, and other hosts the default one', async () => {
    const { listener, otherwise } = newListener();
    const [one, two] = [newCertificate('one.test'), newCertificate('two.test')];
    expect(await shownAt(listener.port, 'one.test')).toBe(fingerprint(otherwise));
    listener.setCertificates([one, two], otherwise);
    expect(await shownAt(listener.port, 'one.test')).toBe(fingerprint(one));
    expect(await shownAt(listener.port, 'TWO.test')).toBe(fingerprint(two));
    expect(await shownAt(listener.port, 'three.test')).toBe(fingerprint(otherwise));
    expect(await shownAt(listener.port)).toBe(fingerprint(otherwise));
    expect([listener.hasCertificate('one.test'), listener.hasCertificate('three.test')]).toEqual([
      true,
      false,
    ]);
  });

  test('a removed certificate is no longer used, and a replaced one is', async () => {
    const { listener, otherwise } = newListener();
    const [old, fresh, gone] = ['one.test', 'one.test', 'two.test'].map(newCertificate);
    listener.setCertificates([old!, gone!], otherwise);
    listener.setCertificates([fresh!], otherwise);
    for (let i = 0; i < 20; i++) {
      expect(await shownAt(listener.port, 'one.test')).toBe(fingerprint(fresh!));
      expect(await shownAt(listener.port, 'two.test')).toBe(fingerprint(otherwise));
    }
    expect(listener.hasCertificate('two.test')).toBe(false);
  });

  test('a broken certificate is refused each time, and the one before stays', async () => {
    const { listener, otherwise } = newListener();
    const good = newCertificate('one.test');
    listener.setCertificates([good], otherwise);
    const broken = { serverName: 'two.test', cert: 'broken', key: 'broken' };
    for (let round = 0; round < 5; round++)
      expect(() => listener.setCertificates([broken, good], otherwise)).toThrow();
    expect(listener.hasCertificate('two.test')).toBe(false);
    // A listener that was left behind would answer some of them, with the default certificate.
    for (let i = 0; i < 20; i++) expect(await shownAt(listener.port, 'one.test')).toBe(fingerprint(good));
  });

  test('the newest certificates are used while older listeners close, in any order', async () => {
    const { listener, otherwise } = newListener({ handshakeMs: 5 });
    for (let i = 0; i < 40; i++) {
      const fresh = newCertificate('one.test');
      listener.setCertificates([fresh], otherwise);
      for (let n = 0; n <= i % 4; n++)
        expect(await shownAt(listener.port, 'one.test')).toBe(fingerprint(fresh));
    }
  });

  test('a host that is no longer served gets 421, also on an open connection', async () => {
    const { listener, otherwise } = newListener();
    gone.clear();
    listener.setCertificates([newCertificate('leaves.test')], otherwise);
    // Both requests use one connection.
    const socket = connect({ host: '127.0.0.1', port: listener.port, rejectUnauthorized: false });
    const ended = new Promise<void>((resolve) => socket.once('end', resolve));
    let received = '';
    const ask = async () => {
      const before = received.length;
      socket.write('GET / HTTP/1.1\r\nHost: leaves.test\r\n\r\n');
      while (!received.includes('\r\n\r\n', before))
        received += (await new Promise<Buffer>((resolve) => socket.once('data', resolve))).toString('latin1');
      return received.slice(before);
    };
    expect(await ask()).toStartWith('HTTP/1.1 200 ');
    gone.add('leaves.test');
    const answer = await ask();
    expect(answer).toStartWith('HTTP/1.1 421 ');
    expect(answer).toMatch(/^connection: close\r$/im);
    await ended;
    socket.destroy();
  });

  test('an open request is answered by the listener that accepted it', async () => {
    const { listener, otherwise } = newListener();
    const late = ask(listener.port, '/later');
    await ask(listener.port);
    listener.setCertificates([newCertificate('one.test')], otherwise);
    const answer = await late;
    expect([answer.status, answer.headers.get('connection')]).toEqual([200, 'close']);
  });

  test('no request is lost while certificates change under load', async () => {
    const { listener, otherwise } = newListener();
    // From another process, like visitors: requests there do not depend on this event loop.
    const visitors = ['keepalive', 'close'].map((kind) =>
      Bun.spawn([process.execPath, '-e', visitor, String(listener.port), kind], {
        stdin: 'pipe',
        stdout: 'pipe',
        stderr: 'inherit',
      }),
    );
    const outputs = visitors.map(({ stdout }) => stdout.pipeThrough(new TextDecoderStream()).getReader());
    // The changes begin when requests do.
    for (const output of outputs) expect((await output.read()).value).toBe('answered\n');
    for (let i = 0; i < 25; i++) {
      const fresh = newCertificate('one.test');
      listener.setCertificates([fresh], otherwise);
      // On a shared socket, a connection that comes together with the change may still get the old one.
      const isShown = async () => (await shownAt(listener.port, 'one.test')) === fingerprint(fresh);
      expect((await isShown()) || (await isShown())).toBe(true);
    }
    for (const { stdin } of visitors) stdin.end();
    for (const output of outputs) {
      const { answered, lost } = JSON.parse((await output.read()).value ?? '');
      expect(lost).toEqual([]);
      expect(answered).toBeGreaterThan(20);
    }
  });
});

test('a port in use is an error', () => {
  const { listener, otherwise } = openOn('a socket of its own');
  const again = () =>
    openHttpsListener({
      host: '127.0.0.1',
      port: listener.port,
      ...answering,
      defaultCertificate: otherwise,
      isServed,
    });
  expect(again).toThrow(expect.objectContaining({ code: 'EADDRINUSE' }));
});

/** Sends requests until stopped or until one fails, for a minute at most. */
const visitor = `
const [port, kind] = process.argv.slice(-2);
let isOver = false, answered = 0;
const lost = [];
process.stdin.on('end', () => (isOver = true)).resume();
const visit = async () => {
  while (performance.now() < 60_000 && lost.length === 0 && (!isOver || answered <= 20)) {
    try {
      const tls = { rejectUnauthorized: false };
      const answer = await fetch('https://127.0.0.1:' + port + '/', { tls, keepalive: kind === 'keepalive' });
      await answer.text();
      if (++answered === 1) console.log('answered');
    } catch (error) {
      lost.push(String(error));
    }
  }
};
await Promise.all([1, 2, 3, 4].map(visit));
console.log(JSON.stringify({ answered, lost }));
process.exit(0);
`;
