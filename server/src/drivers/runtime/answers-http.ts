import { connect } from 'node:net';

const answerMsMax = 2_000;

/** Reads five bytes: responses of apps are not for this process to parse. */
export function answersHttp(address: string): Promise<boolean> {
  const { hostname, port } = new URL(`http://${address}`);
  return new Promise((resolve) => {
    let text = '';
    const socket = connect({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) });
    socket.setTimeout(answerMsMax, () => socket.destroy());
    socket.once('connect', () =>
      socket.write('GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'),
    );
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1').slice(0, 5);
      if (text.length >= 5) socket.destroy();
    });
    socket.on('error', () => {});
    socket.once('close', () => resolve(text.startsWith('HTTP/')));
  });
}
