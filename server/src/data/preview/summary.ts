import type { AccessPreview } from '@svc/contract/access-preview.shapes.ts';
import type { z } from 'zod';
import type { Person } from './reasons.ts';

type Described = Omit<z.output<typeof AccessPreview>, 'text'>;

/** The answer in a few sentences that an admin understands. */
export function summarize(
  preview: Described,
  { person, changes }: { person: Person; changes: readonly string[] },
): string {
  const { reason, next, rows, filter, resource, columns } = preview;
  if (reason !== null) return [reason, next].filter(Boolean).join(' ');
  const who = person.isSelf ? 'You see' : `${person.email} sees`;
  const isAll = filter === 'all rows';
  const amount = rows.all === null ? rowWords(rows.visible ?? 0) : shareWords(rows.visible, rows.all, isAll);
  const sentences = [`${who} ${amount} of ${resource}${isAll ? '' : `: those where ${filter}`}.`];
  const said = (access: 'masked' | 'hidden') =>
    columns.filter((column) => column.access === access).map(({ name, text }) => `${name} is ${text}`);
  const limits = [...said('masked'), ...said('hidden')];
  sentences.push(limits.length === 0 ? 'No column is masked or hidden.' : `${limits.join('; ')}.`);
  sentences.push(
    changes.length === 0
      ? `${person.isSelf ? 'You' : 'They'} cannot change or export rows.`
      : `Also allowed: ${changes.join('; ')}.`,
  );
  return sentences.join(' ');
}

const rowWords = (count: number) => `${count} ${count === 1 ? 'row' : 'rows'}`;

function shareWords(visible: number | null, all: number, isAll: boolean): string {
  if (!isAll) return `${visible} of ${rowWords(all)}`;
  return all === 1 ? 'the only row' : `all ${rowWords(all)}`;
}
