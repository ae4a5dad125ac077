import { Agent, request } from 'node:http';

const agent = new Agent({ keepAlive: true, maxSockets: 64 });

export interface HostResponse {
  status: number;
  etag: string;
  bytes: number;
}

export function requestHost(
  port: number,
  path: string,
  headers: Record<string, string>,
): Promise<HostResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<HostResponse>();
  const outgoing = request({ host: '127.0.0.1', port, path, headers, agent }, (response) => {
    let bytes = 0;
    response.on('data', (chunk: Buffer) => {
      bytes += chunk.byteLength;
    });
    response.on('end', () =>
      resolve({ status: response.statusCode ?? 0, etag: response.headers.etag ?? '', bytes }),
    );
    response.on('error', reject);
  });
  outgoing.on('error', reject);
  outgoing.end();
  return promise;
}
