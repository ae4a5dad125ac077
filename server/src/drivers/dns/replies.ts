import type { Answer, DecodedPacket } from 'dns-packet';
import type { CaaRecord, DnsTrouble } from './dns.ts';

/** A reply that says something: what there is, or that there is nothing. Names are in small letters. */
export interface Said {
  name: 'there' | 'not_there';
  hasAuthority: boolean;
  answers: readonly Answer[];
  authorities: readonly Answer[];
}

const rcodes = { noError: 0, servFail: 2, nxDomain: 3 };

export function saidBy(packet: DecodedPacket): Said | DnsTrouble {
  const rcode = (packet.flags ?? 0) & 0xf;
  if (rcode === rcodes.servFail) return 'servfail';
  if (rcode !== rcodes.noError && rcode !== rcodes.nxDomain) return 'refused';
  return {
    name: rcode === rcodes.noError ? 'there' : 'not_there',
    hasAuthority: packet.flag_aa,
    answers: packet.answers ?? [],
    authorities: packet.authorities ?? [],
  };
}

export function namesAt({ answers }: Said, name: string, type: 'NS' | 'CNAME'): string[] {
  return answers.flatMap((answer) =>
    answer.type === type && isAt(answer, name) ? [withoutDot(answer.data).toLowerCase()] : [],
  );
}

export function addressesAt({ answers }: Said, name: string, type: 'A' | 'AAAA'): string[] {
  return answers.flatMap((answer) => (answer.type === type && isAt(answer, name) ? [answer.data] : []));
}

/** One text is sent in pieces of 255 bytes at most. */
export function textsAt({ answers }: Said, name: string): string[] {
  return answers.flatMap((answer) => {
    if (answer.type !== 'TXT' || !isAt(answer, name)) return [];
    const pieces = Array.isArray(answer.data) ? answer.data : [answer.data];
    return [Buffer.concat(pieces.map((piece) => Buffer.from(piece))).toString()];
  });
}

export function caaAt({ answers }: Said, name: string): CaaRecord[] {
  return answers.flatMap((answer) => {
    if (answer.type !== 'CAA' || !isAt(answer, name)) return [];
    const { tag, value, issuerCritical } = answer.data;
    return [{ tag: tag.toLowerCase(), value, isCritical: issuerCritical === true }];
  });
}

/** Of whose zone a no is. */
export function zoneOfNo({ authorities }: Said): string | null {
  const soa = authorities.find(({ type }) => type === 'SOA');
  return soa === undefined ? null : withoutDot(soa.name).toLowerCase();
}

function isAt(answer: Answer, name: string): boolean {
  return withoutDot(answer.name).toLowerCase() === name;
}

function withoutDot(name: string): string {
  return name.replace(/\.$/, '');
}
