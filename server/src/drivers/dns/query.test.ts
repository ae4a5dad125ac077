import { expect, test } from 'bun:test';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { AUTHORITATIVE_ANSWER, decode, encode, TRUNCATED_RESPONSE } from 'dns-packet';
import { type DnsQuery, queryServer } from './query.ts';

const newQuery = (): DnsQuery => ({
  question: { name: 'a.example', type: 'TXT' },
  to: 'authority',
  deadline: AbortSignal.timeout(10_000),
});

/** Truncates every answer over UDP, and calls `answer` for each TCP connection. */
async function startLongServer(answer: (socket: Socket, question: Buffer) => void) {
  const tcp = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', (bytes: Buffer) => answer(socket, bytes.subarray(2)));
  });
  // On an address that no other test uses, a port that is free for TCP is free for UDP too.
  const host = '127.0.0.77';
  await new Promise<void>((resolve) => tcp.listen(0, host, resolve));
  const { port } = tcp.address() as AddressInfo;
  const udp = await Bun.udpSocket({
    hostname: host,
    port,
    socket: {
      data: (socket, bytes, port, host) => {
        const { id = 0, questions = [] } = decode(Buffer.from(bytes));
        const flags = TRUNCATED_RESPONSE | AUTHORITATIVE_ANSWER;
        socket.send(encode({ type: 'response', id, flags, questions }), port, host);
      },
    },
  });
  return {
    address: { host, port },
    stop: () => {
      udp.close();
      tcp.close();
    },
  };
}

const framed = (message: Buffer) => {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(message.length);
  return Buffer.concat([length, message]);
};

test('an answer over TCP is assembled from chunks, and the connection closed', async () => {
  const { promise: isClosed, resolve: closed } = Promise.withResolvers<void>();
  const server = await startLongServer(async (socket, question) => {
    socket.once('close', () => closed());
    const { id = 0, questions = [] } = decode(question);
    const answers = [{ name: 'a.example', type: 'TXT' as const, data: 'x'.repeat(200) }];
    const whole = framed(encode({ type: 'response', id, questions, answers }));
    for (const piece of [whole.subarray(0, 1), whole.subarray(1, 40), whole.subarray(40)])
      await new Promise((resolve) => socket.write(piece, resolve));
  });
  try {
    const reply = await queryServer(server.address, newQuery());
    expect(reply).toMatchObject({ kind: 'reply', packet: { answers: [{ name: 'a.example' }] } });
    await isClosed;
  } finally {
    server.stop();
  }
});

test('a server that sends endless garbage over TCP is dropped after its first message', async () => {
  const { promise: isClosed, resolve: closed } = Promise.withResolvers<void>();
  let sent = 0;
  const server = await startLongServer((socket) => {
    const noise = Buffer.alloc(65_536);
    const go = () => {
      while (socket.writable && socket.write(noise)) sent += noise.length;
    };
    socket.once('close', () => closed());
    socket.on('drain', go);
    socket.write(framed(Buffer.alloc(65_535)));
    go();
  });
  try {
    // It fails before the timeout.
    expect(await queryServer(server.address, newQuery())).toEqual({ kind: 'error', reason: 'unreachable' });
    await isClosed;
    expect(sent).toBeLessThan(64 * 1_048_576);
  } finally {
    server.stop();
  }
});
