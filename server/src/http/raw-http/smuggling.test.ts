import { afterAll, beforeAll, expect, test } from 'bun:test';
import { connect } from 'node:tls';
import { placeholderCertificate } from '../../drivers/certificates/https-server.ts';
import { hasNginx, type Peer, startBunPeer, startNginxPeer, startNodePeer } from './differential-testing.ts';
import { compareRandomChanges } from './random-changes-testing.ts';
import { acceptedRequests, ignoredUpgrades, refusedMethods, refusedRequests } from './smuggling-fixture.ts';
import { exchange, readStatuses, siteHost, startListener, textResponse } from './testing.ts';

/** What is behind the listener: Bun's own server, which records the requests that it reads. */
const bun = startBunPeer();
const passing = startListener(() => textResponse('site'), { fallbackPort: bun.port });
const tls = startListener(() => textResponse('site'), {
  fallbackPort: bun.port,
  tls: { ...placeholderCertificate(), hosts: [] },
});
let node: Peer;
let nginx: Peer | null;
beforeAll(async () => {
  [node, nginx] = await Promise.all([startNodePeer(), startNginxPeer()]);
});
afterAll(async () => {
  await Promise.all([passing.stop(0), tls.stop(0), bun.stop(), node.stop(), nginx?.stop()]);
});

/** The same request for a site, which is answered by the listener itself. */
const forSite = (text: string) => text.replaceAll('corpus.test', siteHost);
const last = 'GET /last HTTP/1.1\r\nHost: corpus.test\r\nConnection: close\r\n\r\n';
const bytes = (text: string) => Buffer.from(text, 'latin1');

test.each(Object.entries(refusedRequests))(
  '%s gets 400, and nothing behind it is answered',
  async (_, text) => {
    bun.received.length = 0;
    for (const sent of [text, forSite(text)]) {
      const received = await exchange(passing.port, bytes(sent + last));
      expect(readStatuses(received)).toEqual(['400']);
      expect(received).toMatch(/^connection: close\r$/im);
    }
    // The head of a request with a malformed body may have been passed on; its body never ends.
    expect(bun.received).toEqual([]);
  },
);

test('a refused request gets 400 behind other requests too', async () => {
  for (const [name, text] of Object.entries(refusedRequests)) {
    const before = `GET /first HTTP/1.1\r\nHost: corpus.test\r\n\r\nGET /site HTTP/1.1\r\nHost: ${siteHost}\r\n\r\n`;
    const received = await exchange(passing.port, bytes(before + text + last));
    expect([name, readStatuses(received)]).toEqual([name, ['200', '200', '400']]);
  }
});

test('TLS makes no difference', async () => {
  for (const [name, text] of Object.entries(refusedRequests))
    expect([name, readStatuses(await exchangeTls(tls.port, text + last))]).toEqual([name, ['400']]);
  for (const [name, text] of Object.entries({ ...acceptedRequests, ...ignoredUpgrades }))
    expect([name, readStatuses(await exchangeTls(tls.port, text + last))]).toEqual([name, ['200', '200']]);
});

test.each(Object.entries(refusedMethods))(
  '%s gets 405, and nothing behind it is answered',
  async (_, text) => {
    bun.received.length = 0;
    for (const sent of [text, forSite(text)]) {
      const received = await exchange(passing.port, bytes(sent + last));
      expect(readStatuses(received)).toEqual(['405']);
      expect(received).toMatch(/^allow: GET, HEAD, /im);
      expect(received).toMatch(/^connection: close\r$/im);
    }
    expect(bun.received).toEqual([]);
  },
);

test('an expectation in HTTP/1.0 gets no 100 (Continue)', async () => {
  const text = `POST /old HTTP/1.0\r\nHost: corpus.test\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\nhello`;
  expect((await exchange(passing.port, bytes(text))).split('\r\n')[0]).toBe('HTTP/1.1 200 OK');
});

test('what is accepted means the same to the general server and to Node', () =>
  expectSame(node, acceptedRequests));

test.if(hasNginx)('what is accepted means the same to nginx', () =>
  expectSame(nginx!, { ...acceptedRequests, ...ignoredUpgrades }),
);

async function expectSame(peer: Peer, accepted: Record<string, string>): Promise<void> {
  const all = Object.entries(accepted);
  // All on one connection as well: each request ends where the next one begins.
  for (const [name, text] of [...all, ['all of them', all.map(([, each]) => each).join('')] as const]) {
    bun.received.length = 0;
    await exchange(passing.port, bytes(text + last));
    const passed = [...bun.received];
    expect([name, passed.at(-1)?.target]).toEqual([name, '/last']);
    peer.received.length = 0;
    await exchange(peer.port, bytes(text + last));
    // It tells of its requests through a pipe.
    while (peer.received.at(-1)?.target !== '/last') await Bun.sleep(5);
    expect([name, peer.received]).toEqual([name, passed]);
  }
}

test('random changes to the corpus are refused, or mean the same to Node', () => compareChanges(node));

test.if(hasNginx)('random changes to the corpus are refused, or mean the same to nginx', () =>
  compareChanges(nginx!),
);

async function compareChanges(peer: Peer): Promise<void> {
  // Always the same changes: what they find is no matter of luck.
  const seed = Number(process.env.SVC_TEST_SEED) || 9112;
  expect(await compareRandomChanges(peer, { seed, count: 3_000 })).toBeGreaterThan(50);
}

async function exchangeTls(port: number, text: string): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false });
  let received = '';
  socket.on('data', (chunk) => {
    received += chunk.toString('latin1');
  });
  socket.on('secureConnect', () => socket.write(bytes(text)));
  await new Promise((resolve) => socket.once('end', resolve).once('error', resolve));
  socket.destroy();
  return received;
}
