import { describe, expect, test } from 'bun:test';
import { urlBytesMax } from '@svc/contract/limits.ts';
import fc from 'fast-check';
import { Failure } from '../../core/problem.ts';
import { headBytesMax, parseHead, type RequestHead } from './parse-head.ts';

const parse = (text: string) => parseHead(Buffer.from(text, 'latin1'), 0, null);
const parseValid = (text: string): RequestHead => {
  const head = parse(text);
  if (head === null || head instanceof Failure) throw new Error(String(head));
  return head;
};
const errorCode = (text: string) => {
  const head = parse(text);
  return head instanceof Failure ? head.code : head && 'accepted';
};
const plain = (...lines: string[]) => ['GET / HTTP/1.1', 'Host: a.test', ...lines, '', ''].join('\r\n');

test('a plain request is parsed into host, path, query and headers', () => {
  const text =
    'GET /a%20b/c.html?d=e?f HTTP/1.1\r\nHoSt: \t Shop.Apps.Test.:8080 \r\nAccept:*/*\r\nX-Empty:\r\n\r\nnext';
  const { request, end, isLast, acceptsChunks } = parseValid(text);
  expect(request).toMatchObject({
    method: 'GET',
    host: 'shop.apps.test',
    authority: 'Shop.Apps.Test.:8080',
    path: '/a%20b/c.html',
    search: 'd=e?f',
    scheme: 'http',
  });
  expect(request.header('accept')).toBe('*/*');
  expect(request.header('x-empty')).toBe('');
  expect(request.header('x-none')).toBeNull();
  expect([end, isLast, acceptsChunks]).toEqual([text.length - 4, false, true]);
});

test.each([
  ['http://a.test/b/c?d', '/b/c', 'd'],
  ['HTTPS://A.Test/b', '/b', ''],
  ['http://a.test', '/', ''],
  ['http://a.test?d=/e', '/', 'd=/e'],
])('the whole address %s is taken for its path, where its host is that of Host', (target, path, search) => {
  const { request } = parseValid(`GET ${target} HTTP/1.1\r\nHost: a.test\r\n\r\n`);
  expect(request).toMatchObject({ path, search, host: 'a.test', scheme: 'http' });
});

test('a method that the general server does not support is 405; a supported one is accepted', () => {
  const line = (method: string) => `${method} / HTTP/1.1\r\nHost: a.test\r\n\r\n`;
  for (const method of ['FOO', 'get', 'POSTS', 'TRACE', 'CONNECT', 'A'.repeat(100)])
    expect([method, errorCode(line(method))]).toEqual([method, 'method_not_allowed']);
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND', 'MKCALENDAR'])
    expect([method, errorCode(line(method))]).toEqual([method, 'accepted']);
});

test('repeated headers are joined, cookies with a semicolon', () => {
  const { request } = parseValid(
    plain('If-None-Match: "a"', 'Cookie: a=1', 'IF-NONE-MATCH: "b"', 'cookie: b=2'),
  );
  expect(request.header('if-none-match')).toBe('"a", "b"');
  expect(request.header('cookie')).toBe('a=1; b=2');
});

test('the next head is parsed from the end of the previous one', () => {
  const bytes = Buffer.from(`${plain()}HEAD /two HTTP/1.1\r\nHost: b.test\r\n\r\n`);
  const first = parseHead(bytes, 0, null) as RequestHead;
  const second = parseHead(bytes, first.end, first.authority) as RequestHead;
  expect([second.request.method, second.request.path, second.request.host]).toEqual([
    'HEAD',
    '/two',
    'b.test',
  ]);
  expect(second.end).toBe(bytes.length);
});

test('HTTP/1.0 and Connection: close make a request the last', () => {
  expect(parseValid(plain('Connection: Keep-Alive, CLOSE')).isLast).toBe(true);
  expect(parseValid(plain('Connection: keep-alive')).isLast).toBe(false);
  expect(parseValid(plain('Connection: not-close')).isLast).toBe(false);
  const old = parseValid('GET / HTTP/1.0\r\nHost: a.test\r\nConnection: keep-alive\r\n\r\n');
  expect([old.isLast, old.acceptsChunks]).toEqual([true, false]);
});

describe('the parser refuses', () => {
  test.each([
    ['a line that ends with LF alone', 'GET / HTTP/1.1\nHost: a.test\n\n'],
    ['a header line that ends with LF alone', 'GET / HTTP/1.1\r\nHost: a.test\n\r\n'],
    ['an empty line that ends with LF alone', 'GET / HTTP/1.1\r\nHost: a.test\r\n\n'],
    ['a line with CR alone', plain('A: b\rC: d')],
    ['an end with CR alone', 'GET / HTTP/1.1\r\nHost: a.test\r\n\rGET'],
    ['an empty line before the request', `\r\n${plain()}`],
    ['a space before the request', ` ${plain()}`],
    ['a value that continues in the next line', plain('A: b', ' c')],
    ['a value that continues in the next line behind a tab', plain('A: b', '\tc')],
    ['a first header that is a continuation', 'GET / HTTP/1.1\r\n Host: a.test\r\n\r\n'],
    ['a space before the colon', plain('Content-Length : 5')],
    ['a tab before the colon', plain('Transfer-Encoding\t: chunked')],
    ['a header without a name', plain(': b')],
    ['a header without a colon', plain('Abc')],
    ['a name with a character that no token has', plain('A(b): c')],
    ['a name beyond ASCII', plain('Ä: c')],
    ['a value with NUL', plain('A: b\0c')],
    ['a value with a control character', plain('A: b\x01c')],
    ['a value with DEL', plain('A: b\x7fc')],
    ['HTTP/1.1 without Host', 'GET / HTTP/1.1\r\nAccept: */*\r\n\r\n'],
    ['two Host headers', plain('Host: b.test')],
    ['two Host headers that agree', plain('host: a.test')],
    ['a Host with a path', 'GET / HTTP/1.1\r\nHost: a.test/b\r\n\r\n'],
    ['a Host with a user', 'GET / HTTP/1.1\r\nHost: u@a.test\r\n\r\n'],
    ['a Host that is a list', 'GET / HTTP/1.1\r\nHost: a.test, b.test\r\n\r\n'],
    ['a Host with a port that is none', 'GET / HTTP/1.1\r\nHost: a.test:http\r\n\r\n'],
    ['a Host beyond ASCII', 'GET / HTTP/1.1\r\nHost: ä.test\r\n\r\n'],
    [
      'a target with the whole address at another host',
      'GET http://b.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n',
    ],
    [
      'a target at another host in a request that would be passed through',
      'POST http://b.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n',
    ],
    ['two equal lengths', plain('Content-Length: 5', 'content-length: 5')],
    ['a length and a coding', plain('Content-Length: 5', 'Transfer-Encoding: chunked')],
    ['a coding and a length', plain('Transfer-Encoding: chunked', 'Content-Length: 5')],
    ['two codings', plain('Transfer-Encoding: chunked', 'Transfer-Encoding: chunked')],
    ['another coding', plain('Transfer-Encoding: gzip, chunked')],
    ['a coding in capitals', plain('Transfer-Encoding: CHUNKED')],
    ['an empty coding', plain('Transfer-Encoding:')],
    ['a coding in HTTP/1.0', 'POST / HTTP/1.0\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n'],
    ...['', '+5', '-5', '0x5', '5,5', '5 5', '5.0', '05', '1'.repeat(16), '٥'].map(
      (length): [string, string] => [
        `the length ${JSON.stringify(length)}`,
        plain(`Content-Length: ${length}`),
      ],
    ),
    ['OPTIONS of everything', 'OPTIONS * HTTP/1.1\r\nHost: a.test\r\n\r\n'],
    ['an address with a user', 'GET http://u@a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n'],
    ['an address of another kind', 'GET ftp://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n'],
    ['an address at another port', 'GET http://a.test:81/ HTTP/1.1\r\nHost: a.test\r\n\r\n'],
    ['a target that does not begin with /', 'GET a HTTP/1.1\r\nHost: a.test\r\n\r\n'],
    ['* as the target of GET', 'GET * HTTP/1.1\r\nHost: a.test\r\n\r\n'],
    ['a target with a fragment', 'GET /a#b HTTP/1.1\r\nHost: a.test\r\n\r\n'],
    ['a target with a space', 'GET /a b HTTP/1.1\r\nHost: a.test\r\n\r\n'],
    ['a target with a control character', 'GET /a\x0bb HTTP/1.1\r\nHost: a.test\r\n\r\n'],
    ['a target beyond ASCII', 'GET /\xe4 HTTP/1.1\r\nHost: a.test\r\n\r\n'],
    ['a request line without a target', 'GET HTTP/1.1\r\nHost: a.test\r\n\r\n'],
    ['a request line without a version', 'GET /\r\nHost: a.test\r\n\r\n'],
    ['two spaces in the request line', 'GET  / HTTP/1.1\r\nHost: a.test\r\n\r\n'],
    ['a space behind the version', 'GET / HTTP/1.1 \r\nHost: a.test\r\n\r\n'],
    ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['HTTP/1.2', 'GET / HTTP/1.2\r\nHost: a.test\r\n\r\n'],
    ['HTTP/0.9', 'GET /\r\n'],
    ['a version in small letters', 'GET / http/1.1\r\nHost: a.test\r\n\r\n'],
    ['the begin of a TLS connection', '\x16\x03\x01\x02\0\x01'],
    ['a malformed head of a method that would be handed over', 'POST / HTTP/1.1\r\nHost : a.test\r\n\r\n'],
  ])('%s', (_, text) => {
    expect(errorCode(text)).toBe('validation_failed');
  });

  test('a URL above its limit, also an incomplete one', () => {
    const longest = `/${'a'.repeat(urlBytesMax - 1)}`;
    expect(parseValid(`GET ${longest} HTTP/1.1\r\nHost: a.test\r\n\r\n`).request.path).toBe(longest);
    expect(errorCode(`GET ${longest}a HTTP/1.1\r\nHost: a.test\r\n\r\n`)).toBe('uri_too_long');
    expect(errorCode(`GET ${longest}a`)).toBe('uri_too_long');
  });

  test('a head above its limit, also an incomplete one', () => {
    const filled = (length: number) => plain(`A: ${'b'.repeat(length - plain('A: ').length)}`);
    expect(parseValid(filled(headBytesMax)).end).toBe(headBytesMax);
    expect(errorCode(filled(headBytesMax + 1))).toBe('validation_failed');
    expect(errorCode(filled(headBytesMax).slice(0, -1))).toBeNull();
    expect(errorCode(filled(headBytesMax + 1).slice(0, headBytesMax))).toBe('validation_failed');
  });
});

describe('the parser reads', () => {
  test.each([
    ['another method', 'POST / HTTP/1.1\r\nHost: a.test\r\n\r\n', { body: 0, isSpecial: false }],
    ['a length of 0', plain('Content-Length: 0'), { body: 0, isSpecial: false }],
    ['a length in odd letters', plain('cOnTeNt-LeNgTh: 5'), { body: 5, isSpecial: false }],
    ['a coding', plain('Transfer-Encoding: chunked'), { body: 'chunked', isSpecial: false }],
    ['an upgrade', plain('Connection: Upgrade', 'Upgrade: websocket'), { body: 0, isSpecial: true }],
    ['an expectation', plain('Expect: 100-continue'), { body: 0, isSpecial: true }],
    ['an empty Host', 'GET / HTTP/1.1\r\nHost:\r\n\r\n', { authority: { text: '', host: '' } }],
    ['HTTP/1.0 without Host', 'GET / HTTP/1.0\r\n\r\n', { authority: { text: '', host: '' }, isLast: true }],
  ])('%s', (_, text, expected) => {
    expect(parseValid(text)).toMatchObject(expected);
  });

  test('no body or upgrade from similar headers', () => {
    const text = plain('Upgrade-Insecure-Requests: 1', 'X-Content-Length: 5', 'Content-Lengths: 5');
    expect(parseValid(text)).toMatchObject({ body: 0, isSpecial: false });
  });
});

test('every prefix of a valid head is incomplete', () => {
  const text = plain('Accept: */*', 'Cookie: a=b', 'X-Empty:', 'Connection: close');
  for (let length = 0; length < text.length; length++) {
    expect([length, parse(text.slice(0, length))]).toEqual([length, null]);
  }
  expect(parseValid(text).end).toBe(text.length);
});

describe('for random input', () => {
  const piece = fc.oneof(
    fc.constantFrom(
      'GET',
      'HEAD',
      'POST',
      ' ',
      '/',
      '\r\n',
      '\r',
      '\n',
      '\r\n\r\n',
      ':',
      'HTTP/1.1',
      'HTTP/1.0',
    ),
    fc.constantFrom(
      'Host: a.test',
      'Content-Length: 3',
      'Transfer-Encoding: chunked',
      '\t',
      '\0',
      '?',
      '#',
      '\x80',
    ),
    fc.string({ unit: 'binary-ascii', maxLength: 8 }),
  );
  const soup = fc.array(piece, { maxLength: 24 }).map((pieces) => pieces.join(''));
  const nearly = fc
    .record({
      lines: fc.array(fc.string({ unit: 'binary-ascii', maxLength: 20 }), { maxLength: 4 }),
      rest: soup,
    })
    .map(({ lines, rest }) => `GET /a HTTP/1.1\r\nHost: a.test\r\n${lines.join('\r\n')}\r\n${rest}`);

  test('the parser never throws, and agrees with a strict reference parser', () => {
    fc.assert(
      fc.property(fc.oneof(soup, nearly), (text) => {
        const head = parse(text);
        if (head === null || head instanceof Failure) return;
        const taken = text.slice(0, head.end);
        expect(taken.indexOf('\r\n\r\n')).toBe(head.end - 4);
        expect(taken.replaceAll('\r\n', '')).not.toMatch(/[\r\n\0]/);
        const [line, ...fields] = taken.slice(0, -4).split('\r\n');
        const { method, path, search } = head.request;
        expect(line).toMatch(/^(GET|HEAD|POST) \/[!-"$-~]* HTTP\/1\.[01]$/);
        expect(line?.startsWith(`${method} ${path}${search === '' ? '' : `?${search}`}`)).toBe(true);
        for (const field of fields) expect(field).toMatch(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t -~\x80-\xff]*$/);
        const named = (name: RegExp) => fields.filter((field) => name.test(field));
        expect(named(/^host:/i).length).toBe(line?.endsWith('1.0') ? named(/^host:/i).length % 2 : 1);
        const lengths = named(/^(content-length|transfer-encoding):/i);
        if (head.body === 0) expect(lengths.every((field) => /: *0$/.test(field))).toBe(true);
        else expect(lengths).toHaveLength(1);
      }),
      { numRuns: 20_000 },
    );
  });

  test('more bytes never change a decision', () => {
    fc.assert(
      fc.property(fc.oneof(soup, nearly), soup, (text, more) => {
        const [before, after] = [parse(text), parse(text + more)];
        if (before === null) return;
        if (before instanceof Failure) expect(after).toBeInstanceOf(Failure);
        else expect((after as RequestHead).end).toBe(before.end);
      }),
      { numRuns: 20_000 },
    );
  });
});
