export interface WebSocketCallbacks {
  onOpen(socket: ServerWebSocket): void;
  onMessage(data: string | Buffer): void;
  onPing(data: Buffer): void;
  onClose(code: number, reason: string): void;
}

export type ServerWebSocket = Bun.ServerWebSocket<WebSocketCallbacks>;
export type BunServer = Bun.Server<WebSocketCallbacks>;

const messageBytesMax = 16 * 1024 * 1024;
/** Unread bytes of one side. WebSockets have no back pressure, so a connection with more is closed. */
export const socketBacklogBytesMax = 2 * messageBytesMax;
const idleSecondsMax = 120;

export const webSocketHandler: Bun.WebSocketHandler<WebSocketCallbacks> = {
  idleTimeout: idleSecondsMax,
  sendPings: true,
  maxPayloadLength: messageBytesMax,
  backpressureLimit: socketBacklogBytesMax,
  closeOnBackpressureLimit: true,
  perMessageDeflate: false,
  open: (socket) => socket.data.onOpen(socket),
  message: (socket, data) => socket.data.onMessage(data),
  ping: (socket, data) => socket.data.onPing(data),
  close: (socket, code, reason) => socket.data.onClose(code, reason),
};

/** Bun's own `stop` would also wait for idle keep-alive connections. */
export async function stopGracefully(server: BunServer, times: { graceMs: number; idleMs: number }) {
  void server.stop(false);
  await waitUntilIdle(() => server.pendingRequests > 0, times);
  await server.stop(true);
}

export async function waitUntilIdle(
  isBusy: () => boolean,
  { graceMs, idleMs }: { graceMs: number; idleMs: number },
): Promise<void> {
  const deadline = performance.now() + graceMs;
  let idleSince: number | null = null;
  while (performance.now() < deadline) {
    idleSince = isBusy() ? null : (idleSince ?? performance.now());
    if (idleSince !== null && performance.now() - idleSince >= idleMs) return;
    await Bun.sleep(idleMs / 20);
  }
}
