import type { Socket } from 'node:net';

/** Above the variables of an app and the longest batch of log lines. */
const lineBytesMax = 16 * 1024 * 1024;

export interface JsonLines {
  send(value: unknown): void;
  /** Bytes that the other side has not read yet. */
  waitingBytes(): number;
  close(): void;
}

export function openJsonLines(socket: Socket, on: { value(value: unknown): void; close(): void }): JsonLines {
  let rest = '';
  socket.setEncoding('utf8');
  socket.on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > lineBytesMax) return void socket.destroy();
    for (const line of lines) {
      const value = parse(line);
      if (value === undefined) return void socket.destroy();
      on.value(value);
    }
  });
  socket.on('error', () => socket.destroy());
  socket.once('close', on.close);
  return {
    send: (value) => void socket.write(`${JSON.stringify(value)}\n`),
    waitingBytes: () => socket.writableLength,
    close: () => socket.destroy(),
  };
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
