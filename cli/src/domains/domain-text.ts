import type { Domain } from '@svc/contract/domains.shapes.ts';
import type { z } from 'zod';
import { pad, textWidth } from '../framework/layout.ts';
import { bold, type Style, sanitize, tint } from '../framework/text.ts';

export type DomainRecord = z.output<typeof Domain>;
type Check = DomainRecord['ownership'];

const checked = ['ownership', 'routing', 'certificate'] as const;

export function domainText(domain: DomainRecord, style: Style): string {
  const name = sanitize(domain.host_unicode);
  const also = domain.host === domain.host_unicode ? '' : ` (${sanitize(domain.host)})`;
  const why = domain.disconnected_for === null ? '' : `: ${sanitize(domain.disconnected_for)}`;
  return [
    `${bold(style, name)}${also} is ${domain.status}${why}\n`,
    ...(domain.status === 'active' ? [`${sanitize(domain.url)}\n`] : recordLines(domain, style)),
    '\n',
    ...checked.map((each) => checkText(each, domain[each], style)),
  ].join('');
}

/** Never truncated, because records are copied. */
function recordLines({ records }: DomainRecord, style: Style): string[] {
  const rows = records.map(({ type, name, value }) => [type, sanitize(name), sanitize(value)]);
  const titles = ['TYPE', 'NAME', 'VALUE'];
  const widths = titles.map((title, at) =>
    Math.max(...[[...titles], ...rows].map((row) => textWidth(row[at] ?? '')), title.length),
  );
  const line = (row: readonly string[]) =>
    row
      .map((text, at) => pad(text, widths[at] ?? 0))
      .join('  ')
      .trimEnd();
  return [
    '\nDNS records to publish:\n',
    `${bold(style, line(titles))}\n`,
    ...rows.map((row) => `${line(row)}\n`),
  ];
}

function checkText(name: string, check: Check, style: Style): string {
  const isFine = check.state === 'ok';
  if (isFine && check.reason === 'not_configured')
    return `${checkMark(check, style)} ${pad(name, 11)}  not managed here (HTTPS is provided by the proxy in front)\n`;
  const reason = check.reason === null ? '' : ` (${sanitize(check.reason)})`;
  const title = `${checkMark(check, style)} ${pad(name, 11)}  ${check.state}${reason}\n`;
  if (isFine) return title;
  const facts = [
    ['expected', check.expected],
    ['found', check.found.length === 0 ? 'nothing' : check.found.join(', ')],
    ['next', check.next_step],
  ] as const;
  const shown = facts.filter(([fact, text]) => text !== '' && (fact !== 'found' || check.state === 'failed'));
  return title + shown.map(([fact, text]) => `    ${fact.padEnd(8)}  ${sanitize(text)}\n`).join('');
}

function checkMark({ state }: Check, style: Style): string {
  switch (state) {
    case 'ok':
      return tint(style, 'green', style.unicode ? '✓' : 'ok');
    case 'failed':
      return tint(style, 'red', style.unicode ? '✗' : 'x ');
    case 'waiting':
      return tint(style, 'yellow', style.unicode ? '…' : '..');
  }
}

/** A host would give "not found", like a removed domain. */
export function checkDomainId(id: string): string | undefined {
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(id)) return undefined;
  return '<domain-id> takes an id, not a host; svc apps domains list shows it.';
}
