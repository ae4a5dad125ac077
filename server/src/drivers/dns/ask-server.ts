import { randomInt } from 'node:crypto';
import { connect } from 'node:net';
import { type DecodedPacket, decode, encode, type Question, RECURSION_DESIRED } from 'dns-packet';
import type { DnsServerAddress, DnsTrouble } from './dns.ts';

export type Reply = { kind: 'reply'; packet: DecodedPacket } | { kind: 'trouble'; because: DnsTrouble };

export interface Asking {
  question: Question;
  /** A resolver is asked to find out; a name server is asked for what it holds itself. */
  of: 'resolver' | 'authority';
  /** Ends the wait, whichever server it is for. */
  deadline: AbortSignal;
}

const answerMsMax = 2_000;
/** What passes every network whole, by the advice of DNS operators. */
const udpBytesMax = 1_232;

/** One question to one server, over UDP, and over TCP where the answer is too long for that. */
export async function askServer(server: DnsServerAddress, asking: Asking): Promise<Reply> {
  const signal = AbortSignal.any([asking.deadline, AbortSignal.timeout(answerMsMax)]);
  if (signal.aborted) return trouble('timeout');
  const reply = await askOver(overUdp, server, asking, signal);
  if (reply.kind === 'trouble' || !reply.packet.flag_tc) return reply;
  return askOver(overTcp, server, asking, signal);
}

type Way = (
  server: DnsServerAddress,
  message: Buffer,
  take: (bytes: Buffer) => void,
  fail: () => void,
) => Promise<() => void>;

/** A number and a port that nobody can guess: what does not fit the question is no answer to it. */
async function askOver(
  way: Way,
  server: DnsServerAddress,
  asking: Asking,
  signal: AbortSignal,
): Promise<Reply> {
  const id = randomInt(0x1_0000);
  const message = encode({
    type: 'query',
    id,
    flags: asking.of === 'resolver' ? RECURSION_DESIRED : 0,
    questions: [asking.question],
    additionals: [
      {
        ...({ type: 'OPT', name: '.', udpPayloadSize: udpBytesMax, extendedRcode: 0 } as const),
        ...{ ednsVersion: 0, flags: 0, flag_do: false, options: [] },
      },
    ],
  });
  const { promise, resolve } = Promise.withResolvers<Reply>();
  const onLate = () => resolve(trouble('timeout'));
  signal.addEventListener('abort', onLate, { once: true });
  let close = () => {};
  try {
    close = await way(
      server,
      message,
      (bytes) => {
        const packet = decoded(bytes);
        if (packet && packet.id === id && packet.flag_qr && isSameQuestion(packet, asking.question))
          resolve({ kind: 'reply', packet });
      },
      () => resolve(trouble('unreachable')),
    );
    return await promise;
  } catch {
    return trouble('unreachable');
  } finally {
    signal.removeEventListener('abort', onLate);
    close();
  }
}

/** Connected: what comes from elsewhere than that very server is not let in. */
const overUdp: Way = async (server, message, take, fail) => {
  const socket = await Bun.udpSocket({
    connect: { hostname: server.host, port: server.port },
    socket: { data: (_, bytes) => take(Buffer.from(bytes)), error: fail },
  });
  socket.send(message);
  return () => socket.close();
};

const overTcp: Way = async (server, message, take, fail) => {
  const socket = connect(server.port, server.host);
  let held = Buffer.alloc(0);
  socket.on('error', fail);
  socket.on('close', fail);
  socket.on('data', (bytes: Buffer) => {
    held = Buffer.concat([held, bytes]);
    if (held.length < 2 || held.length < 2 + held.readUInt16BE(0)) return;
    socket.destroy();
    take(held.subarray(2, 2 + held.readUInt16BE(0)));
    // One question, one message: where that does not fit, nothing behind it is waited for, or kept.
    fail();
  });
  const length = Buffer.alloc(2);
  length.writeUInt16BE(message.length);
  socket.write(Buffer.concat([length, message]));
  return () => socket.destroy();
};

function decoded(bytes: Buffer): DecodedPacket | null {
  try {
    return decode(bytes);
  } catch {
    return null;
  }
}

function isSameQuestion({ questions = [] }: DecodedPacket, { name, type }: Question): boolean {
  const [asked, another] = questions;
  return another === undefined && asked?.type === type && asked.name.toLowerCase() === name.toLowerCase();
}

function trouble(because: DnsTrouble): Reply {
  return { kind: 'trouble', because };
}
