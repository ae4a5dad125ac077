import { createHmac } from 'node:crypto';
import { sha256 } from '../../core/values.ts';
import type { S3Config } from './s3-client.ts';

type Signer = Pick<S3Config, 'region' | 'accessKeyId' | 'secretAccessKey' | 'sessionToken'>;

export interface UnsignedRequest {
  method: string;
  url: URL;
  headers: Readonly<Record<string, string>>;
  bodySha256: string;
  at: Date;
}

export function signRequest(signer: Signer, request: UnsignedRequest): Record<string, string> {
  const time = request.at.toISOString().replace(/[-:]|\.\d+/g, '');
  const scope = [time.slice(0, 8), signer.region, 's3', 'aws4_request'];
  const headers: Record<string, string> = {
    ...request.headers,
    host: request.url.host,
    'x-amz-content-sha256': request.bodySha256,
    'x-amz-date': time,
    ...(signer.sessionToken ? { 'x-amz-security-token': signer.sessionToken } : {}),
  };
  const names = Object.keys(headers).sort();
  const canonical = [
    request.method,
    request.url.pathname,
    request.url.search.slice(1),
    ...names.map((name) => `${name}:${headers[name]}`),
    '',
    names.join(';'),
    request.bodySha256,
  ].join('\n');
  const text = ['AWS4-HMAC-SHA256', time, scope.join('/'), sha256(canonical)].join('\n');
  const key = scope.reduce<string | Buffer>(hmac, `AWS4${signer.secretAccessKey}`);
  const signature = hmac(key, text).toString('hex');
  headers.authorization = `AWS4-HMAC-SHA256 Credential=${signer.accessKeyId}/${scope.join('/')},SignedHeaders=${names.join(';')},Signature=${signature}`;
  return headers;
}

export function canonicalQuery(query: Readonly<Record<string, string>>): string {
  return Object.keys(query)
    .sort()
    .map((name) => `${encode(name)}=${encode(query[name] ?? '')}`)
    .join('&');
}

function encode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
