/** Requests that some server or proxy has read differently from another one (request smuggling), and similar ones. */
const line = 'POST /corpus HTTP/1.1\r\n';
const host = 'Host: corpus.test\r\n';
const hidden = 'GET /hidden HTTP/1.1\r\nHost: corpus.test\r\n\r\n';
const smuggle = (fields: string, body = '') => `${line}${host}${fields}\r\n${body}`;
const toH2c = 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n';
const chunked = (body: string) => smuggle('Transfer-Encoding: chunked\r\n', body);

/** Each gets 400 and the end of its connection. */
export const refusedRequests: Record<string, string> = {
  // Two lengths (RFC 9112 §6.3).
  'Content-Length twice, equal': smuggle('Content-Length: 5\r\nContent-Length: 5\r\n', 'hello'),
  'Content-Length twice, different': smuggle('Content-Length: 5\r\nContent-Length: 0\r\n', 'hello'),
  'Content-Length twice, in different letters': smuggle(
    'Content-Length: 0\r\ncontent-length: 43\r\n',
    hidden,
  ),
  'Content-Length as a list': smuggle('Content-Length: 5, 5\r\n', 'hello'),
  'CL.TE': smuggle('Content-Length: 6\r\nTransfer-Encoding: chunked\r\n', `0\r\n\r\n${hidden}`),
  'TE.CL': smuggle('Transfer-Encoding: chunked\r\nContent-Length: 4\r\n', `2b\r\n${hidden}\r\n0\r\n\r\n`),
  'TE.TE with identity': smuggle(
    'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n',
    '0\r\n\r\n',
  ),
  // Lengths that parsers of numbers read differently.
  ...Object.fromEntries(
    [
      '',
      '+5',
      '-5',
      '0x5',
      '5e0',
      '5.0',
      '05',
      '5 5',
      '5;',
      '"5"',
      '99999999999999999999',
      '18446744073709551621',
    ].map((length) => [
      `Content-Length ${JSON.stringify(length)}`,
      smuggle(`Content-Length: ${length}\r\n`, 'hello'),
    ]),
  ),
  // Codings that one parser ignores.
  ...Object.fromEntries(
    [
      'xchunked',
      'chunked, identity',
      'identity',
      'identity, chunked',
      'gzip, chunked',
      'chunked, chunked',
      'CHUNKED',
    ]
      .concat([
        '"chunked"',
        'chunked;q=1',
        ', chunked',
        'chunked,',
        'cow',
        '\x0bchunked',
        '\x0cchunked',
        'chunke\x00d',
      ])
      .map((coding) => [
        `Transfer-Encoding ${JSON.stringify(coding)}`,
        smuggle(`Transfer-Encoding: ${coding}\r\n`, `0\r\n\r\n${hidden}`),
      ]),
  ),
  'Transfer-Encoding in HTTP/1.0': `POST / HTTP/1.0\r\n${host}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  'a space before the colon of Transfer-Encoding': smuggle('Transfer-Encoding : chunked\r\n', '0\r\n\r\n'),
  'a tab before the colon of Content-Length': smuggle('Content-Length\t: 5\r\n', 'hello'),
  'a space before Transfer-Encoding': smuggle('A: b\r\n Transfer-Encoding: chunked\r\n', '0\r\n\r\n'),
  'a value folded into the next line': smuggle('Transfer-Encoding:\r\n chunked\r\n', '0\r\n\r\n'),
  // CGI and WSGI read `_` as `-`.
  ...Object.fromEntries(
    ['Content_Length: 43', 'CONTENT_LENGTH: 43', 'Transfer_Encoding: chunked', 'transfer_encoding: chunked']
      .flatMap((field) => [field, `Content-Length: 0\r\n${field}`])
      .map((fields) => [JSON.stringify(fields), smuggle(`${fields}\r\n`, hidden)]),
  ),
  // Headers that a proxy would remove (RFC 9110 §7.6.1), and with them the end of the body or the host.
  ...Object.fromEntries(
    ['Content-Length', 'content-length', 'close, Content-Length', 'Transfer-Encoding', 'keep-alive,Host'].map(
      (options) => [
        `Connection: ${options}`,
        smuggle(`Connection: ${options}\r\nContent-Length: ${hidden.length}\r\n`, hidden),
      ],
    ),
  ),
  // Expectations that one parser recognizes (RFC 9110 §10.1.1), and expectations beside unclear bodies.
  ...Object.fromEntries(
    [
      '',
      '100',
      '100-Continue',
      '100-continued',
      'y 100-continue',
      '100-continue, y',
      '100-continue;q=1',
      '200-ok',
    ].map((expectation) => [
      `Expect ${JSON.stringify(expectation)}`,
      smuggle(`Expect: ${expectation}\r\nContent-Length: ${hidden.length}\r\n`, hidden),
    ]),
  ),
  'Expect and two lengths': smuggle(
    'Expect: 100-continue\r\nContent-Length: 6\r\nTransfer-Encoding: chunked\r\n',
    `0\r\n\r\n${hidden}`,
  ),
  'Expect and a length with a sign': smuggle('Expect: 100-continue\r\nContent-Length: +5\r\n', 'hello'),
  'an upgrade to h2c and two lengths': smuggle(
    `${toH2c}Content-Length: 6\r\nTransfer-Encoding: chunked\r\n`,
    `0\r\n\r\n${hidden}`,
  ),
  'an upgrade to h2c that names the length': smuggle(
    `Connection: Upgrade, Content-Length\r\nUpgrade: h2c\r\nContent-Length: ${hidden.length}\r\n`,
    hidden,
  ),
  'a header behind a bare CR': smuggle('A: b\rTransfer-Encoding: chunked\r\n', '0\r\n\r\n'),
  'a header behind a bare LF': smuggle('A: b\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n'),
  'a header behind NUL': smuggle('A: b\0Transfer-Encoding: chunked\r\n', '0\r\n\r\n'),
  'a control character in the name': smuggle('\x01Transfer-Encoding: chunked\r\n', '0\r\n\r\n'),
  'no colon': smuggle('Transfer-Encoding chunked\r\n', '0\r\n\r\n'),
  'an empty name': smuggle(': chunked\r\n', ''),
  'lines that end with LF': 'POST /corpus HTTP/1.1\nHost: corpus.test\nContent-Length: 5\n\nhello',
  'a head that ends with LF': `${line}${host}Content-Length: 0\r\n\n${hidden}`,
  'a head that ends with CR': `${line}${host}Content-Length: 0\r\n\r${hidden}`,
  // Chunks (RFC 9112 §7.1).
  'a chunk with an extension': chunked('5;a=b\r\nhello\r\n0\r\n\r\n'),
  'a chunk with an extension that ends with LF': chunked(`5;a\nhello\r\n0\r\n\r\n`),
  'a chunk with a space behind its size': chunked('5 \r\nhello\r\n0\r\n\r\n'),
  'a chunk with a sign': chunked('+5\r\nhello\r\n0\r\n\r\n'),
  'a chunk with 0x': chunked('0x5\r\nhello\r\n0\r\n\r\n'),
  'a chunk with an underscore': chunked('1_0\r\nhello world, hello\r\n0\r\n\r\n'),
  'a chunk without a size': chunked('\r\nhello\r\n0\r\n\r\n'),
  'a chunk size beyond 64 bits': chunked('10000000000000005\r\nhello\r\n0\r\n\r\n'),
  'a chunk size line that ends with LF': chunked('5\nhello\r\n0\r\n\r\n'),
  'a chunk that ends with LF': chunked('5\r\nhello\n0\r\n\r\n'),
  'a chunk that ends with other bytes': chunked(`5\r\nhelloXX0\r\n\r\n${hidden}`),
  'a chunk longer than its size': chunked('3\r\nhello\r\n0\r\n\r\n'),
  'a last chunk that ends with LF': chunked('0\n\n'),
  'a chunk with an extension behind Expect': smuggle(
    'Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n',
    '5;a=b\r\nhello\r\n0\r\n\r\n',
  ),
  'a trailer': chunked(`0\r\nA: b\r\n\r\n`),
  'a request as a trailer': chunked(`0\r\n${hidden}`),
  'a trailer with a length': chunked(`0\r\nContent-Length: 43\r\n\r\n${hidden}`),
  // Which host (RFC 9112 §3.2).
  'Host twice': `${line}${host}${host}\r\n`,
  'Host twice, different': `${line}${host}Host: other.test\r\n\r\n`,
  'no Host': `${line}\r\n`,
  'a Host with a path': `${line}Host: corpus.test/other\r\n\r\n`,
  'a Host with a user': `${line}Host: other.test@corpus.test\r\n\r\n`,
  'a Host that is a list': `${line}Host: corpus.test, other.test\r\n\r\n`,
  'a target at another host': `GET http://other.test/ HTTP/1.1\r\n${host}\r\n`,
  'a target at another port': `GET http://corpus.test:81/ HTTP/1.1\r\n${host}\r\n`,
  'a target with a user': `GET http://a@corpus.test/ HTTP/1.1\r\n${host}\r\n`,
  'a target of another scheme': `GET ftp://corpus.test/ HTTP/1.1\r\n${host}\r\n`,
  'a target without a slash': `GET corpus HTTP/1.1\r\n${host}\r\n`,
  'a target with a fragment': `GET /a#b HTTP/1.1\r\n${host}\r\n`,
  'a target beyond ASCII': `GET /\xe4 HTTP/1.1\r\n${host}\r\n`,
  // The request line (RFC 9112 §3).
  'a tab in the request line': `GET\t/corpus\tHTTP/1.1\r\n${host}\r\n`,
  'two spaces in the request line': `GET  /corpus HTTP/1.1\r\n${host}\r\n`,
  'a space at the end of the request line': `GET /corpus HTTP/1.1 \r\n${host}\r\n`,
  'a request line with an escaped line break': `GET /a HTTP/1.1\rX: y HTTP/1.1\r\n${host}\r\n`,
  'an empty line first': `\r\nGET /corpus HTTP/1.1\r\n${host}\r\n`,
  'HTTP/1.2': `GET /corpus HTTP/1.2\r\n${host}\r\n`,
  'HTTP/2.0': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'HTTP/0.9': 'GET /corpus\r\n\r\n',
  'a version with a sign': `GET /corpus HTTP/+1.1\r\n${host}\r\n`,
  'a version in small letters': `GET /corpus http/1.1\r\n${host}\r\n`,
};

/** Each is read by every parser in the same way. A connection's last request closes it. */
export const acceptedRequests: Record<string, string> = {
  'a plain request': `GET /a?b=c HTTP/1.1\r\n${host}\r\n`,
  'a target that is a URL': `GET http://corpus.test/a?b HTTP/1.1\r\n${host}\r\n`,
  'a body with a length': smuggle('Content-Length: 5\r\n', 'hello'),
  'a body that looks like a request': smuggle(`Content-Length: ${hidden.length}\r\n`, hidden),
  'a GET with a body': `GET /g HTTP/1.1\r\n${host}Content-Length: 5\r\n\r\nhello`,
  'an empty body': smuggle('Content-Length: 0\r\n'),
  chunks: chunked('5\r\nhello\r\nA\r\n, world!!!\r\n0\r\n\r\n'),
  'chunks with leading zeros': chunked('0005\r\nhello\r\n000\r\n\r\n'),
  'a chunk that looks like a request': chunked(`${hidden.length.toString(16)}\r\n${hidden}\r\n0\r\n\r\n`),
  'no chunks': chunked('0\r\n\r\n'),
  'headers with blanks': smuggle('A:\t b \t\r\nContent-Length:5\r\n', 'hello'),
  'similar headers': smuggle(
    'Content-Length: 2\r\nX-Content-Length: 5\r\nTransfer-Encodings: chunked\r\n',
    'ok',
  ),
  'Expect with a body': smuggle(`Expect: 100-continue\r\nContent-Length: ${hidden.length}\r\n`, hidden),
  'Expect with chunks': smuggle(
    'Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n',
    '5\r\nhello\r\n0\r\n\r\n',
  ),
  'Expect without a body': `GET /e HTTP/1.1\r\n${host}Expect: 100-continue\r\n\r\n`,
  'Connection with other headers': smuggle(
    'Connection: TE, A\r\nTE: trailers\r\nA: b\r\nContent-Length: 2\r\n',
    'ok',
  ),
  'a method of WebDAV with a body': `PROPFIND /w HTTP/1.1\r\n${host}Content-Length: ${hidden.length}\r\n\r\n${hidden}`,
  'DELETE without a body': `DELETE /d HTTP/1.1\r\n${host}\r\n`,
};

/** Answered in HTTP/1.1 (RFC 9110 §7.8), and so is the request behind. Node reads none behind. */
export const ignoredUpgrades: Record<string, string> = {
  'an upgrade to h2c': `GET /h2c HTTP/1.1\r\n${host}${toH2c}\r\n`,
  'an upgrade to h2c with a body': smuggle(`${toH2c}Content-Length: ${hidden.length}\r\n`, hidden),
};

/** Each gets 405 and the end of its connection: its body is not the next request. */
export const refusedMethods: Record<string, string> = Object.fromEntries(
  ['TRACE', 'CONNECT', 'PURGE', 'UNKNOWN', 'get', 'GETT', 'GE', 'M-SEARCH'].flatMap((method) => [
    [
      `${method} with a length`,
      `${method} /corpus HTTP/1.1\r\n${host}Content-Length: ${hidden.length}\r\n\r\n${hidden}`,
    ],
    [
      `${method} with chunks`,
      `${method} /corpus HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\n\r\n${hidden.length.toString(16)}\r\n${hidden}\r\n0\r\n\r\n`,
    ],
    [
      `${method} with Expect`,
      `${method} /corpus HTTP/1.1\r\n${host}Expect: 100-continue\r\nContent-Length: ${hidden.length}\r\n\r\n${hidden}`,
    ],
  ]),
);
