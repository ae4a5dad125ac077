/** What becomes of a WebSocket, told by whoever made it of a request. */
export interface SocketEnds {
  opened(socket: ClientSocket): void;
  message(data: string | Buffer): void;
  ping(data: Buffer): void;
  closed(code: number, reason: string): void;
}

export type ClientSocket = Bun.ServerWebSocket<SocketEnds>;
export type BunServer = Bun.Server<SocketEnds>;

const messageBytesMax = 16 * 1024 * 1024;
/** Of what one side has sent and the other has not taken: there is no way to ask the sender to wait, so it is cut. */
export const socketBacklogMax = 2 * messageBytesMax;
/** Pinged before that; who answers no ping is gone. */
const silentSecondsMax = 120;

/** The same for every WebSocket of every listener. */
export const webSocketHandler: Bun.WebSocketHandler<SocketEnds> = {
  idleTimeout: silentSecondsMax,
  sendPings: true,
  maxPayloadLength: messageBytesMax,
  backpressureLimit: socketBacklogMax,
  closeOnBackpressureLimit: true,
  perMessageDeflate: false,
  open: (socket) => socket.data.opened(socket),
  message: (socket, data) => socket.data.message(data),
  ping: (socket, data) => socket.data.ping(data),
  close: (socket, code, reason) => socket.data.closed(code, reason),
};
