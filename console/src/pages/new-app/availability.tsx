import { Anchor, Text } from '@mantine/core';
import type { checkAvailability } from '@svc/contract/app-lists.ts';
import type { Answer } from '@svc/contract/endpoint.ts';

type Name = Answer<NonNullable<typeof checkAvailability.shape>>['slug'];

const reasons = {
  taken: 'is taken',
  reserved: 'is a reserved word',
  invalid: 'can not be used: small letters, digits and dashes, a letter first',
} as const;

/** Whether a name is free, and what is free like it. */
export function Availability({
  of,
  take,
  what,
}: {
  of: Name;
  take: (name: string) => void;
  what: 'slug' | 'subdomain';
}) {
  if (!of) return <span role="status">{what === 'slug' ? 'Names it in addresses.' : 'Of its host.'}</span>;
  if (of.available) return <span role="status">{of.name} is free.</span>;
  return (
    <Text span inherit fw={600} role="status">
      {of.name} {reasons[of.reason ?? 'taken']}.
      {of.suggestions.length > 0 && (
        <>
          {' '}
          Free:{' '}
          {of.suggestions.map((suggestion, at) => (
            <span key={suggestion}>
              {at > 0 && ', '}
              <Anchor
                component="button"
                type="button"
                inherit
                underline="always"
                onClick={() => take(suggestion)}
              >
                {suggestion}
              </Anchor>
            </span>
          ))}
        </>
      )}
    </Text>
  );
}
