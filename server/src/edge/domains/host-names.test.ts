import { expect, test } from 'bun:test';
import { Failure } from '../../core/problem.ts';
import { isApex, parseHost, refuseReserved } from './host-names.ts';

const platform = { appsDomain: 'apps.platform.example', baseUrl: 'https://svc.platform.example' };

function codeOf(run: () => unknown): string {
  try {
    run();
    return 'taken';
  } catch (error) {
    if (error instanceof Failure) return error.code;
    throw error;
  }
}

test('a host is normalized to its DNS form', () => {
  for (const [given, kept] of [
    ['www.example.com', 'www.example.com'],
    ['WWW.Example.COM', 'www.example.com'],
    ['www.example.com.', 'www.example.com'],
    [' www.example.com ', 'www.example.com'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['BÜCHER.example.', 'xn--bcher-kva.example'],
    ['xn--bcher-kva.example', 'xn--bcher-kva.example'],
    ['faß.example', 'xn--fa-hia.example'],
    ['ｗｗｗ．example．com', 'www.example.com'],
    ['例え.テスト', 'xn--r8jz45g.xn--zckzah'],
  ] as const)
    expect([given, parseHost(given)]).toEqual([given, kept]);
});

test('text that is not a host name is refused', () => {
  for (const bad of [
    '',
    '.',
    '..',
    'example',
    'a..b.example',
    '.example.com',
    'www.example.com..',
    'https://www.example.com',
    'www.example.com/',
    'www.example.com/path',
    'www.example.com?x',
    'a#b.example',
    'user@example.com',
    'user:pw@example.com',
    'www.example.com:443',
    'www.example.com:',
    '127.0.0.1',
    '1.2.3',
    '0x7f.1',
    '2130706433',
    '[::1]',
    '::1',
    '2001:db8::1',
    '127.0.0.1.',
    '1.2.3.4:80',
    '*.example.com',
    '*',
    'a.*.example.com',
    'a b.example',
    'a\tb.example',
    'a\u0000b.example',
    'ex%41mple.com',
    'a\\b.example',
    'a_b.example',
    '-a.example',
    'a-.example',
    `${'a'.repeat(64)}.example`,
    `${'a.'.repeat(130)}example`,
    'xn--a.example',
    'a\u200db.example',
    '\u00ad.example',
  ])
    expect([bad, codeOf(() => parseHost(bad))]).toEqual([bad, 'validation_failed']);
});

test('a known name without a dot is refused as reserved', () => {
  for (const [given, kept] of [
    ['COM.', 'com'],
    ['localhost', 'localhost'],
    ['рф', 'xn--p1ai'],
  ] as const) {
    expect([given, parseHost(given)]).toEqual([given, kept]);
    expect([given, codeOf(() => refuseReserved(kept, platform))]).toEqual([given, 'host_reserved']);
  }
});

test('platform hosts, their parents and their subdomains are reserved', () => {
  for (const host of [
    'apps.platform.example',
    'shop.apps.platform.example',
    'a.b.apps.platform.example',
    'svc.platform.example',
    'www.svc.platform.example',
    'platform.example',
    'www.localhost',
    'localhost',
  ])
    expect([host, codeOf(() => refuseReserved(host, platform))]).toEqual([host, 'host_reserved']);
  for (const host of ['www.platform.example', 'notplatform.example', 'xapps.platform.example'])
    expect([host, codeOf(() => refuseReserved(host, platform))]).toEqual([host, 'taken']);
});

test('public suffixes are reserved, names below them are not', () => {
  for (const host of [
    'com',
    'uk',
    'xn--p1ai',
    'co.uk',
    'github.io',
    'foo.ck',
    'blogspot.com',
    'xn--55qx5d.cn',
  ])
    expect([host, codeOf(() => refuseReserved(host, platform))]).toEqual([host, 'host_reserved']);
  for (const host of ['example.co.uk', 'me.github.io', 'www.ck', 'example.com'])
    expect([host, codeOf(() => refuseReserved(host, platform))]).toEqual([host, 'taken']);
});

test('an apex host is recognized', () => {
  expect(['example.com', 'example.co.uk', 'me.github.io'].map(isApex)).toEqual([true, true, true]);
  expect(['www.example.com', 'www.example.co.uk'].map(isApex)).toEqual([false, false]);
});
