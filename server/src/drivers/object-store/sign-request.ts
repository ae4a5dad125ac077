import { createHash, createHmac } from 'node:crypto';

export interface Signer {
  region: string;
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string | undefined;
}

export interface Unsigned {
  method: string;
  url: URL;
  headers: Readonly<Record<string, string>>;
  bodySha256: string;
  at: Date;
}

/** The headers of a request to S3 with their signature (AWS Signature Version 4, all in the headers). */
export function signRequest(signer: Signer, request: Unsigned): Record<string, string> {
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
  const key = scope.reduce<string | Buffer>(
    (secret, part) => hmac(secret, part),
    `AWS4${signer.secretAccessKey}`,
  );
  const signature = hmac(key, text).toString('hex');
  headers.authorization = `AWS4-HMAC-SHA256 Credential=${signer.accessKeyId}/${scope.join('/')},SignedHeaders=${names.join(';')},Signature=${signature}`;
  return headers;
}

/** As the signature wants it: sorted by name, and every character encoded that is not plain. */
export function canonicalQuery(query: Readonly<Record<string, string>>): string {
  return Object.keys(query)
    .sort()
    .map((name) => `${encode(name)}=${encode(query[name] ?? '')}`)
    .join('&');
}

export function sha256(data: string | Uint8Array): string {
  return createHash('sha256').update(data).digest('hex');
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
