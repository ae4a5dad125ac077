import { Text } from '@mantine/core';
import { Section } from '../../parts/section.tsx';
import { TimeText } from '../../parts/time-text.tsx';
import { seenBy } from '../../parts/visibility-texts.ts';
import { Facts } from '../admin/facts.tsx';
import type { RequestView } from '../app/publication/request-view.ts';

/** What is asked for, by whom, and what became of it. */
export function RequestFacts({ request }: { request: RequestView }) {
  const isOpen = request.status === 'pending';
  const facts: (readonly [string, React.ReactNode])[] = [
    [isOpen ? 'Seen by' : 'Was seen by', seenBy[request.visibility_before]],
    ['Asked for', <strong key="asked">{seenBy[request.visibility]}</strong>],
    ['Asked by', request.requested_by_email],
    ['When', <TimeText key="when" value={request.requested_at} />],
    [
      'Note',
      request.note ? (
        <Text key="note" size="sm" style={{ whiteSpace: 'pre-wrap' }}>
          {request.note}
        </Text>
      ) : (
        'none'
      ),
    ],
  ];
  if (isOpen) facts.push(['Expires', <TimeText key="expires" value={request.expires_at} />]);
  else {
    const by = request.decided_by_email ? ` by ${request.decided_by_email}` : '';
    facts.push(['Became', `${request.status}${by}`]);
    facts.push(['Decided', <TimeText key="decided" value={request.decided_at} />]);
    facts.push(['Said', request.reason || 'nothing']);
  }
  return (
    <Section title="What is asked for">
      <Facts label="What is asked for" facts={facts} />
    </Section>
  );
}
