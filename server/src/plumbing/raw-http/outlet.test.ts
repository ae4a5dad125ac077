import { expect, test } from 'bun:test';
import { createDesk, Outlet } from './outlet.ts';

/** Takes as much at a time as it is told to. */
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

test('what one connection left on the desk is never sent to another', () => {
  const desk = createDesk();
  const [one, two] = [slowSocket({ bytes: 100 }), slowSocket({ bytes: 100 })];
  const [failed, next] = [new Outlet(one, desk), new Outlet(two, desk)];
  failed.put(Buffer.from('secret of one'));
  next.flush();
  expect(two.written).toBe('');
  failed.put(Buffer.from('secret of one'));
  next.put(Buffer.from('hello'));
  next.flush();
  failed.flush();
  expect([one.written, two.written]).toEqual(['', 'hello']);
});

test('what is not taken waits in order, and the desk can be used for others meanwhile', () => {
  const desk = createDesk();
  const room = { bytes: 4 };
  const socket = slowSocket(room);
  const outlet = new Outlet(socket, desk);
  outlet.put(Buffer.from('abcdef'));
  outlet.flush();
  const large = Buffer.alloc(100_000, 'l');
  outlet.put(Buffer.from('ghi'));
  outlet.put(large);
  outlet.put(Buffer.from('end'));
  outlet.flush();
  const other = slowSocket({ bytes: 100 });
  const another = new Outlet(other, desk);
  another.put(Buffer.from('other'));
  another.flush();
  expect([socket.written, outlet.isEmpty, other.written]).toEqual(['abcd', false, 'other']);
  for (let turn = 0; !outlet.isEmpty && turn < 1_000; turn++) {
    room.bytes = 777;
    outlet.drain();
  }
  expect(socket.written).toBe(`abcdefghi${large}end`);
});

test('what waits is counted over all connections, until it is taken or nobody is there to take it', () => {
  const desk = createDesk();
  let told = 0;
  desk.onQueued = () => told++;
  const room = { bytes: 0 };
  const [slow, gone] = [new Outlet(slowSocket(room), desk), new Outlet(slowSocket({ bytes: 0 }), desk)];
  for (const outlet of [slow, gone]) {
    outlet.put(Buffer.alloc(100_000));
    outlet.put(Buffer.from('end'));
    outlet.flush();
  }
  expect([desk.queuedBytes, slow.queuedBytes, told]).toEqual([200_006, 100_003, 4]);
  room.bytes = 40_000;
  slow.drain();
  gone.close();
  expect([desk.queuedBytes, slow.queuedBytes, gone.queuedBytes]).toEqual([60_003, 60_003, 0]);
  room.bytes = 100_000;
  slow.drain();
  expect(desk.queuedBytes).toBe(0);
});

test('whoever waits for room is told when the connection is gone', async () => {
  const outlet = new Outlet(slowSocket({ bytes: 0 }), createDesk());
  outlet.put(Buffer.from('abc'));
  outlet.flush();
  const waiting = outlet.empty();
  outlet.close();
  await waiting;
  expect(outlet.isClosed).toBe(true);
});

test('what is left for the end of the turn is sent then, each to its own and in order', async () => {
  const desk = createDesk();
  const [one, two] = [slowSocket({ bytes: 100 }), slowSocket({ bytes: 3 })];
  const [first, second] = [new Outlet(one, desk), new Outlet(two, desk)];
  first.put(Buffer.from('a1 '));
  first.leave();
  second.put(Buffer.from('b1 b'));
  second.leave();
  first.put(Buffer.from('a2'));
  first.leave();
  second.put(Buffer.from('half of an answer that failed'));
  first.put(Buffer.from(' a3'));
  first.leave();
  expect([one.written, two.written]).toEqual(['', '']);
  await new Promise((resolve) => setImmediate(resolve));
  expect([one.written, two.written, second.queuedBytes]).toEqual(['a1 a2 a3', 'b1 ', 1]);
});

test('nothing that was left behind is lost when the desk is full', () => {
  const desk = createDesk();
  const sockets = Array.from({ length: 12 }, () => slowSocket({ bytes: 100_000 }));
  const outlets = sockets.map((socket) => new Outlet(socket, desk));
  for (const [at, outlet] of outlets.entries()) {
    outlet.put(Buffer.alloc(60_000, 97 + at));
    outlet.leave();
  }
  outlets[0]?.flush();
  expect(sockets.map(({ written }) => written)).toEqual(
    sockets.map((_, at) => String.fromCharCode(97 + at).repeat(60_000)),
  );
});
