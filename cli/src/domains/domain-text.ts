import type { Domain } from '@svc/contract/domains.shapes.ts';
import type { z } from 'zod';
import type { Style } from '../command.ts';
import { bold, plain, tint } from '../output.ts';
import { pad, widthOf } from '../text-width.ts';

export type DomainRecord = z.output<typeof Domain>;
type Check = DomainRecord['ownership'];

const checked = ['ownership', 'routing', 'certificate'] as const;

/** How a domain stands: what is to be published while it waits, and each thing that has to be right. */
export function domainText(domain: DomainRecord, style: Style): string {
  const name = plain(domain.host_unicode);
  const also = domain.host === domain.host_unicode ? '' : ` (${plain(domain.host)})`;
  const why = domain.disconnected_for === null ? '' : `: ${plain(domain.disconnected_for)}`;
  return [
    `${bold(style, name)}${also} is ${domain.status}${why}\n`,
    ...(domain.status === 'active' ? [`${plain(domain.url)}\n`] : recordLines(domain, style)),
    '\n',
    ...checked.map((each) => checkText(each, domain[each], style)),
  ].join('');
}

/** Never cut: they are there to be copied. */
function recordLines({ records }: DomainRecord, style: Style): string[] {
  const rows = records.map(({ type, name, value }) => [type, plain(name), plain(value)]);
  const titles = ['TYPE', 'NAME', 'VALUE'];
  const widths = titles.map((title, at) =>
    Math.max(...[[...titles], ...rows].map((row) => widthOf(row[at] ?? '')), title.length),
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
    return `${mark(check, style)} ${pad(name, 11)}  none is made here (HTTPS is up to what stands in front)\n`;
  const reason = check.reason === null ? '' : ` (${plain(check.reason)})`;
  const title = `${mark(check, style)} ${pad(name, 11)}  ${check.state}${reason}\n`;
  if (isFine) return title;
  const facts = [
    ['expected', check.expected],
    ['found', check.found.length === 0 ? 'nothing' : check.found.join(', ')],
    ['next', check.next_step],
  ] as const;
  // Where nothing was looked for, nothing was found either.
  const shown = facts.filter(([fact, text]) => text !== '' && (fact !== 'found' || check.state === 'failed'));
  return title + shown.map(([fact, text]) => `    ${fact.padEnd(8)}  ${plain(text)}\n`).join('');
}

function mark({ state }: Check, style: Style): string {
  switch (state) {
    case 'ok':
      return tint(style, 'green', style.unicode ? '✓' : 'ok');
    case 'failed':
      return tint(style, 'red', style.unicode ? '✗' : 'x ');
    case 'waiting':
      return tint(style, 'yellow', style.unicode ? '…' : '..');
  }
}
