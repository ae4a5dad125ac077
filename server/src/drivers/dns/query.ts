import { randomInt } from 'node:crypto';
import { connect } from 'node:net';
import {
  type Answer,
  type DecodedPacket,
  decode,
  encode,
  type Question,
  RECURSION_DESIRED,
} from 'dns-packet';
import type { CaaRecord, DnsError, DnsServerAddress } from './dns.ts';

type Reply = { kind: 'reply'; packet: DecodedPacket } | { kind: 'error'; reason: DnsError };

export interface DnsQuery {
  question: Question;
  to: 'resolver' | 'authority';
  deadline: AbortSignal;
}

const answerMsMax = 2_000;
/** The size that avoids IP fragmentation (DNS Flag Day 2020). */
const udpBytesMax = 1_232;
const edns = {
  type: 'OPT',
  name: '.',
  udpPayloadSize: udpBytesMax,
  extendedRcode: 0,
  ednsVersion: 0,
} as const;

export async function queryServer(server: DnsServerAddress, query: DnsQuery): Promise<Reply> {
  const signal = AbortSignal.any([query.deadline, AbortSignal.timeout(answerMsMax)]);
  if (signal.aborted) return queryError('timeout');
  const reply = await sendQuery(udpTransport, server, query, signal);
  if (reply.kind === 'error' || !reply.packet.flag_tc) return reply;
  return sendQuery(tcpTransport, server, query, signal);
}

type Transport = (
  server: DnsServerAddress,
  message: Buffer,
  take: (bytes: Buffer) => void,
  fail: () => void,
) => Promise<() => void>;

/** Random ID and port against spoofing: messages that do not match the question are ignored. */
async function sendQuery(
  transport: Transport,
  server: DnsServerAddress,
  query: DnsQuery,
  signal: AbortSignal,
): Promise<Reply> {
  const id = randomInt(0x1_0000);
  const message = encode({
    type: 'query',
    id,
    flags: query.to === 'resolver' ? RECURSION_DESIRED : 0,
    questions: [query.question],
    additionals: [{ ...edns, flags: 0, flag_do: false, options: [] }],
  });
  const { promise, resolve } = Promise.withResolvers<Reply>();
  const onTimeout = () => resolve(queryError('timeout'));
  signal.addEventListener('abort', onTimeout, { once: true });
  let close = () => {};
  try {
    const take = (bytes: Buffer) => {
      const packet = tryDecode(bytes);
      if (packet && packet.id === id && packet.flag_qr && isSameQuestion(packet, query.question))
        resolve({ kind: 'reply', packet });
    };
    close = await transport(server, message, take, () => resolve(queryError('unreachable')));
    return await promise;
  } catch {
    return queryError('unreachable');
  } finally {
    signal.removeEventListener('abort', onTimeout);
    close();
  }
}

/** A connected socket: the system drops packets from other senders. */
const udpTransport: Transport = async (server, message, take, fail) => {
  const socket = await Bun.udpSocket({
    connect: { hostname: server.host, port: server.port },
    socket: { data: (_, bytes) => take(Buffer.from(bytes)), error: fail },
  });
  socket.send(message);
  return () => socket.close();
};

const tcpTransport: Transport = async (server, message, take, fail) => {
  const socket = connect(server.port, server.host);
  let received = Buffer.alloc(0);
  socket.on('error', fail);
  socket.on('close', fail);
  socket.on('data', (bytes: Buffer) => {
    received = Buffer.concat([received, bytes]);
    if (received.length < 2 || received.length < 2 + received.readUInt16BE(0)) return;
    socket.destroy();
    take(received.subarray(2, 2 + received.readUInt16BE(0)));
    fail();
  });
  const length = Buffer.alloc(2);
  length.writeUInt16BE(message.length);
  socket.write(Buffer.concat([length, message]));
  return () => socket.destroy();
};

function tryDecode(bytes: Buffer): DecodedPacket | null {
  try {
    return decode(bytes);
  } catch {
    return null;
  }
}

function isSameQuestion({ questions = [] }: DecodedPacket, { name, type }: Question): boolean {
  const [question, another] = questions;
  return (
    another === undefined && question?.type === type && question.name.toLowerCase() === name.toLowerCase()
  );
}

function queryError(reason: DnsError): Reply {
  return { kind: 'error', reason };
}

export interface DnsAnswer {
  nameExists: boolean;
  isAuthoritative: boolean;
  answers: readonly Answer[];
  authorities: readonly Answer[];
}

const rcodes = { noError: 0, servFail: 2, nxDomain: 3 };

export function parseAnswer(packet: DecodedPacket): DnsAnswer | DnsError {
  const rcode = (packet.flags ?? 0) & 0xf;
  if (rcode === rcodes.servFail) return 'servfail';
  if (rcode !== rcodes.noError && rcode !== rcodes.nxDomain) return 'refused';
  return {
    nameExists: rcode === rcodes.noError,
    isAuthoritative: packet.flag_aa,
    answers: packet.answers ?? [],
    authorities: packet.authorities ?? [],
  };
}

export function namesIn({ answers }: DnsAnswer, name: string, type: 'NS' | 'CNAME'): string[] {
  return answers.flatMap((answer) =>
    answer.type === type && isFor(answer, name) ? [withoutDot(answer.data).toLowerCase()] : [],
  );
}

export function addressesIn({ answers }: DnsAnswer, name: string, type: 'A' | 'AAAA'): string[] {
  return answers.flatMap((answer) => (answer.type === type && isFor(answer, name) ? [answer.data] : []));
}

export function textsIn({ answers }: DnsAnswer, name: string): string[] {
  return answers.flatMap((answer) => {
    if (answer.type !== 'TXT' || !isFor(answer, name)) return [];
    const pieces = Array.isArray(answer.data) ? answer.data : [answer.data];
    return [Buffer.concat(pieces.map((piece) => Buffer.from(piece))).toString()];
  });
}

export function caaRecordsIn({ answers }: DnsAnswer, name: string): CaaRecord[] {
  return answers.flatMap((answer) => {
    if (answer.type !== 'CAA' || !isFor(answer, name)) return [];
    const { tag, value, issuerCritical } = answer.data;
    return [{ tag: tag.toLowerCase(), value, isCritical: issuerCritical === true }];
  });
}

export function negativeAnswerZone({ authorities }: DnsAnswer): string | null {
  const soa = authorities.find(({ type }) => type === 'SOA');
  return soa === undefined ? null : withoutDot(soa.name).toLowerCase();
}

function isFor(answer: Answer, name: string): boolean {
  return withoutDot(answer.name).toLowerCase() === name;
}

function withoutDot(name: string): string {
  return name.replace(/\.$/, '');
}
