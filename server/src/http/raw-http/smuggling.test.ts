import { afterAll, beforeAll, expect, test } from 'bun:test';
import { connect } from 'node:tls';
import { placeholderCertificate } from '../../drivers/certificates/https-server.ts';
import { type Peer, startBunPeer, startNginxPeer, startNodePeer } from './differential-peers.ts';
import { acceptedRequests, refusedRequests } from './smuggling-corpus.ts';
import { exchange, readStatuses, siteHost, startListener, textResponse } from './testing.ts';

/** What is behind the listener: Bun's own server, which records the requests that it reads. */
const bun = startBunPeer();
const passing = startListener(() => textResponse('site'), { fallbackPort: bun.port });
const tls = startListener(() => textResponse('site'), {
  fallbackPort: bun.port,
  tls: { ...placeholderCertificate(), hosts: [] },
});
const peers: Peer[] = [];
beforeAll(async () => {
  peers.push(await startNodePeer(), ...(await startNginxPeer()));
});
afterAll(async () => {
  await Promise.all([passing.stop(0), tls.stop(0), bun.stop(), ...peers.map((peer) => peer.stop())]);
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
  for (const [name, text] of Object.entries(acceptedRequests))
    expect([name, readStatuses(await exchangeTls(tls.port, text + last))]).toEqual([name, ['200', '200']]);
});

test('what is accepted means the same to the general server, to Node and to nginx', async () => {
  const all = Object.entries(acceptedRequests);
  // All on one connection as well: each request ends where the next one begins.
  for (const [name, text] of [...all, ['all of them', all.map(([, each]) => each).join('')] as const]) {
    bun.received.length = 0;
    await exchange(passing.port, bytes(text + last));
    const passed = [...bun.received];
    expect([name, passed.at(-1)?.target]).toEqual([name, '/last']);
    for (const peer of peers) {
      peer.received.length = 0;
      await exchange(peer.port, bytes(text + last));
      expect([name, peer.name, peer.received]).toEqual([name, peer.name, passed]);
    }
  }
});

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
