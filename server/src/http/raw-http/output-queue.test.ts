import { expect, test } from 'bun:test';
import { createWriteBuffer, OutputQueue } from './output-queue.ts';

/** Accepts at most `room.bytes` per write. */
function slowSocket(room: { bytes: number }) {
  let written = '';
  return {
    write(bytes: unknown, at = 0, length = 0) {
      const taken = Math.min(room.bytes, length);
      room.bytes -= taken;
      written += Buffer.from(bytes as Uint8Array)
        .subarray(at, at + taken)
        .toString();
      return taken;
    },
    get written() {
      return written;
    },
  };
}

test('uncommitted bytes of one connection are never sent to another', () => {
  const buffer = createWriteBuffer();
  const [one, two] = [slowSocket({ bytes: 100 }), slowSocket({ bytes: 100 })];
  const [failed, next] = [new OutputQueue(one, buffer), new OutputQueue(two, buffer)];
  failed.write(Buffer.from('secret of one'));
  next.flush();
  expect(two.written).toBe('');
  failed.write(Buffer.from('secret of one'));
  next.write(Buffer.from('hello'));
  next.flush();
  failed.flush();
  expect([one.written, two.written]).toEqual(['', 'hello']);
});

test('bytes that the socket does not accept wait in order, while others use the write buffer', () => {
  const buffer = createWriteBuffer();
  const room = { bytes: 4 };
  const socket = slowSocket(room);
  const queue = new OutputQueue(socket, buffer);
  queue.write(Buffer.from('abcdef'));
  queue.flush();
  const large = Buffer.alloc(100_000, 'l');
  queue.write(Buffer.from('ghi'));
  queue.write(large);
  queue.write(Buffer.from('end'));
  queue.flush();
  const other = slowSocket({ bytes: 100 });
  const another = new OutputQueue(other, buffer);
  another.write(Buffer.from('other'));
  another.flush();
  expect([socket.written, queue.isEmpty, other.written]).toEqual(['abcd', false, 'other']);
  for (let turn = 0; !queue.isEmpty && turn < 1_000; turn++) {
    room.bytes = 777;
    queue.drain();
  }
  expect(socket.written).toBe(`abcdefghi${large}end`);
});

test('queued bytes are counted over all connections until they are sent or the connection closes', () => {
  const buffer = createWriteBuffer();
  let notifications = 0;
  buffer.onQueued = () => notifications++;
  const room = { bytes: 0 };
  const [slow, gone] = [
    new OutputQueue(slowSocket(room), buffer),
    new OutputQueue(slowSocket({ bytes: 0 }), buffer),
  ];
  for (const queue of [slow, gone]) {
    queue.write(Buffer.alloc(100_000));
    queue.write(Buffer.from('end'));
    queue.flush();
  }
  expect([buffer.queuedBytes, slow.queuedBytes, notifications]).toEqual([200_006, 100_003, 4]);
  room.bytes = 40_000;
  slow.drain();
  gone.close();
  expect([buffer.queuedBytes, slow.queuedBytes, gone.queuedBytes]).toEqual([60_003, 60_003, 0]);
  room.bytes = 100_000;
  slow.drain();
  expect(buffer.queuedBytes).toBe(0);
});

test('waitUntilEmpty resolves when the connection closes', async () => {
  const queue = new OutputQueue(slowSocket({ bytes: 0 }), createWriteBuffer());
  queue.write(Buffer.from('abc'));
  queue.flush();
  const waiting = queue.waitUntilEmpty();
  queue.close();
  await waiting;
  expect(queue.isClosed).toBe(true);
});

test('flushLater sends at the end of the turn, to each connection its own bytes in order', async () => {
  const buffer = createWriteBuffer();
  const [one, two] = [slowSocket({ bytes: 100 }), slowSocket({ bytes: 3 })];
  const [first, second] = [new OutputQueue(one, buffer), new OutputQueue(two, buffer)];
  first.write(Buffer.from('a1 '));
  first.flushLater();
  second.write(Buffer.from('b1 b'));
  second.flushLater();
  first.write(Buffer.from('a2'));
  first.flushLater();
  second.write(Buffer.from('half of an answer that failed'));
  first.write(Buffer.from(' a3'));
  first.flushLater();
  expect([one.written, two.written]).toEqual(['', '']);
  await new Promise((resolve) => setImmediate(resolve));
  expect([one.written, two.written, second.queuedBytes]).toEqual(['a1 a2 a3', 'b1 ', 1]);
});

test('no committed bytes are lost when the write buffer is full', () => {
  const buffer = createWriteBuffer();
  const sockets = Array.from({ length: 12 }, () => slowSocket({ bytes: 100_000 }));
  const queues = sockets.map((socket) => new OutputQueue(socket, buffer));
  for (const [at, queue] of queues.entries()) {
    queue.write(Buffer.alloc(60_000, 97 + at));
    queue.flushLater();
  }
  queues[0]?.flush();
  expect(sockets.map(({ written }) => written)).toEqual(
    sockets.map((_, at) => String.fromCharCode(97 + at).repeat(60_000)),
  );
});
