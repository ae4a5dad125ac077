import { expect } from 'bun:test';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { Failure } from '../../core/problem.ts';
import type { Peer, SeenRequest } from './differential-testing.ts';
import { parseHead } from './parse-head.ts';
import { BodyReader } from './response-reader.ts';
import { acceptedRequests, refusedRequests } from './smuggling-fixture.ts';
import { exchange } from './testing.ts';

const next = 'GET /next HTTP/1.1\r\nHost: corpus.test\r\n\r\n';
const last = 'GET /last HTTP/1.1\r\nHost: corpus.test\r\nConnection: close\r\n\r\n';
/** On one connection. */
const atOnce = 100;
const answerMsMax = 10_000;
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
  '_',
  '\0',
  'chunked',
  'Content-Length: 5\r\n',
  'Expect: 100-continue\r\n',
  'Connection: Content-Length\r\n',
];

/** Changes requests of the corpus; the peer must refuse those that are accepted, or read them alike. Returns how many it has read. */
export async function compareRandomChanges(
  peer: Peer,
  { seed, count }: { seed: number; count: number },
): Promise<number> {
  const accepted = Object.values(acceptedRequests);
  // Node reads nothing behind an upgrade.
  const refused = Object.values(refusedRequests).filter((text) => !text.includes('Upgrade'));
  const change = fc.record({
    text: fc.constantFrom(...accepted, ...accepted, ...accepted, ...refused),
    at: fc.integer({ min: 0, max: 9_999 }),
    piece: fc.constantFrom(...pieces),
    cut: fc.integer({ min: 0, max: 3 }),
  });
  const compared = new Set<string>();
  for (const { text, at, piece, cut } of fc.sample(change, { seed, numRuns: count })) {
    const from = at % text.length;
    const sent = text.slice(0, from) + piece + text.slice(from + cut) + next;
    if (!compared.has(sent) && readHere(Buffer.from(sent + last, 'latin1')) !== null) compared.add(sent);
  }
  const all = [...compared];
  let read = 0;
  for (let at = 0; at < all.length; at += atOnce) read += await compareAll(peer, all.slice(at, at + atOnce));
  return read;
}

/** What differs is compared alone again. */
async function compareAll(peer: Peer, texts: readonly string[]): Promise<number> {
  const bytes = Buffer.from(texts.join('') + last, 'latin1');
  const own = readHere(bytes);
  peer.received.length = 0;
  let answer: string | null = null;
  void exchange(peer.port, bytes).then((all) => {
    answer = all;
  });
  const isRefused = () => answer?.includes('HTTP/1.1 400 ') ?? false;
  const hasEnded = () => (peer.endsEarly ? answer !== null : isRefused());
  const endsAt = performance.now() + answerMsMax;
  // A peer that reads another length waits for more.
  while (peer.received.at(-1)?.target !== '/last' && !hasEnded() && performance.now() < endsAt)
    await Bun.sleep(1);
  if (hasEnded()) await drain(peer);
  // An empty query is none here.
  const received = peer.received.map((seen) => ({ ...seen, target: seen.target.replace(/\?$/, '') }));
  if (isDeepStrictEqual(received, own)) return texts.length;
  if (texts.length > 1) {
    const half = texts.length >> 1;
    return (await compareAll(peer, texts.slice(0, half))) + (await compareAll(peer, texts.slice(half)));
  }
  const expected = peer.endsEarly ? own?.slice(0, received.length) : own;
  if (!isRefused()) expect([texts, received]).toEqual([texts, expected ?? []]);
  return 0;
}

const mark = '/mark';

/** A refusal can overtake what the peer reports of the requests before it. */
async function drain(peer: Peer): Promise<void> {
  await exchange(peer.port, `GET ${mark} HTTP/1.1\r\nHost: corpus.test\r\nConnection: close\r\n\r\n`);
  const endsAt = performance.now() + answerMsMax;
  while (peer.received.at(-1)?.target !== mark && performance.now() < endsAt) await Bun.sleep(1);
  peer.received.pop();
}

/** Null where one is refused or incomplete, or the last one is not at the end. */
function readHere(all: Buffer): SeenRequest[] | null {
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
    if (head.isLast) return end === all.length ? requests : null;
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
