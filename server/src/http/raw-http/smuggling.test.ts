import { afterAll, beforeAll, expect, test } from 'bun:test';
import { connect } from 'node:tls';
import fc from 'fast-check';
import { Failure } from '../../core/problem.ts';
import { placeholderCertificate } from '../../drivers/certificates/https-server.ts';
import {
  type Peer,
  type SeenRequest,
  startBunPeer,
  startNginxPeer,
  startNodePeer,
} from './differential-testing.ts';
import { parseHead } from './parse-head.ts';
import { BodyReader } from './response-reader.ts';
import { acceptedRequests, refusedRequests } from './smuggling-fixture.ts';
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
      // It tells of its requests through a pipe.
      while (peer.received.at(-1)?.target !== '/last') await Bun.sleep(5);
      expect([name, peer.name, peer.received]).toEqual([name, peer.name, passed]);
    }
  }
});

test('random changes to the corpus are refused, or mean the same to Node', async () => {
  const [node] = peers;
  const accepted = Object.values(acceptedRequests);
  const pieces = [
    '\r\n',
    '\n',
    '\r',
    ' ',
    '\t',
    '0',
    '5',
    ';',
    ',',
    ':',
    '\0',
    'chunked',
    'Content-Length: 5\r\n',
  ];
  const change = fc.record({
    text: fc.constantFrom(...accepted, ...accepted, ...accepted, ...Object.values(refusedRequests)),
    at: fc.integer({ min: 0, max: 9_999 }),
    piece: fc.constantFrom(...pieces),
    cut: fc.integer({ min: 0, max: 3 }),
  });
  let compared = 0;
  // Always the same changes: what they find is no matter of luck.
  for (const { text, at, piece, cut } of fc.sample(change, { seed: 9112, numRuns: 3_000 })) {
    const from = at % text.length;
    const sent = text.slice(0, from) + piece + text.slice(from + cut) + last;
    const own = readHere(bytes(sent));
    if (own === null || node === undefined) continue;
    compared++;
    node.received.length = 0;
    await exchange(node.port, bytes(sent).subarray(0, own.end));
    expect([sent, node.received]).toEqual([sent, own.requests]);
  }
  expect(compared).toBeGreaterThan(50);
});

/** The requests in the bytes up to the last one; null where one is refused or incomplete. */
function readHere(all: Buffer): { requests: SeenRequest[]; end: number } | null {
  const requests: SeenRequest[] = [];
  for (let at = 0; at < all.length; ) {
    const head = parseHead(all, at, null);
    if (head === null || head instanceof Failure) return null;
    const body = new BodyReader(head.body);
    const end = body.read(all, head.end);
    if (!body.isDone) return null;
    const { method, path, search, authority } = head.request;
    requests.push({
      method,
      target: path + (search === '' ? '' : `?${search}`),
      host: authority,
      body: method === 'GET' ? '' : readBody(all.toString('latin1', head.end, end), head.body),
    });
    at = end;
    if (head.isLast) return { requests, end };
  }
  return null;
}

function readBody(text: string, length: number | 'chunked'): string {
  if (length !== 'chunked') return text;
  let [body, rest] = ['', text];
  for (;;) {
    const lineEnd = rest.indexOf('\r\n');
    const size = Number.parseInt(rest.slice(0, lineEnd), 16);
    if (size === 0) return body;
    body += rest.slice(lineEnd + 2, lineEnd + 2 + size);
    rest = rest.slice(lineEnd + 4 + size);
  }
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
