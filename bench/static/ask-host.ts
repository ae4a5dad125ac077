import { Agent, request } from 'node:http';

const agent = new Agent({ keepAlive: true, maxSockets: 64 });

export interface Asked {
  status: number;
  etag: string;
  bytes: number;
}

/** By Host header, whatever the name of the machine. */
export function askHost(port: number, path: string, headers: Record<string, string>): Promise<Asked> {
  const { promise, resolve, reject } = Promise.withResolvers<Asked>();
  const sent = request({ host: '127.0.0.1', port, path, headers, agent }, (answer) => {
    let bytes = 0;
    answer.on('data', (chunk: Buffer) => {
      bytes += chunk.byteLength;
    });
    answer.on('end', () =>
      resolve({ status: answer.statusCode ?? 0, etag: answer.headers.etag ?? '', bytes }),
    );
    answer.on('error', reject);
  });
  sent.on('error', reject);
  sent.end();
  return promise;
}
